package server

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/server/admission"
	"pinion/server/backup"
	"pinion/server/consensus"
	"pinion/server/dryrun"
	"pinion/server/exporter"
	"pinion/server/history"
	"pinion/server/membership"
	"pinion/server/rpc"
	"pinion/server/scheduler"
	"pinion/server/tracker"
)

// APIBackend has the parts of the pool that the API of a host works on, beside the Member itself. Each part has its own few dependencies.
type APIBackend struct {
	Leadership  rpc.Leadership
	Forwarder   http.RoundTripper // to the API of other hosts
	Hosts       membership.HostAdmin
	Keys        admission.KeyStore
	JoinTokens  *admission.JoinTokens // where this host leads
	Secrets     admission.SecretSealer
	Queue       scheduler.Local
	Services    dryrun.Rollouts
	Ended       history.Local
	Images      tracker.PoolImages
	Snapshots   backup.Saver
	RaftMetrics consensus.Collector
	PoolMetrics PoolMetrics
}

// newAPIBackend wires that of a member.
func newAPIBackend(m *Member, leadership rpc.Leadership) APIBackend {
	l := &m.server
	keys := local(l, func(s *Server) *admission.AccessKeys { return s.accessKeys })
	return APIBackend{
		Leadership: leadership,
		Forwarder:  &rpc.Forwarder{Leader: m.leader, Servers: m.client, AnyHost: m.anyHost, ToAgent: func(address string) bool { return l.Load() != nil && !m.poolCache.IsServerAddress(address) }},
		Hosts: membership.HostAdmin{
			Servers:   leading(l, func(s *Server) *membership.Servers { return s.servers }),
			CloseHost: m.cfg.Port.CloseHost, Offset: l.clockOffset,
		},
		Keys:       admission.KeyStore{Keys: keys, Authority: leading(l, func(s *Server) *admission.Authority { return s.authority })},
		JoinTokens: &admission.JoinTokens{Store: m, Fingerprint: func() string { return admission.RootOf(l.view(), m.cfg.Identity) }, Now: m.cfg.Now},
		Secrets:    admission.SecretSealer{Keys: keys, OnRetrieval: m.cfg.SecretsGiven},
		Queue:      scheduler.Local{Get: local(l, func(s *Server) *scheduler.Scheduler { return s.scheduler })},
		Services: dryrun.Rollouts{Hosts: local(l, func(s *Server) dryrun.Hosts {
			return dryrun.Hosts{Now: s.node.Now, Schedulable: s.liveness.Schedulable}
		})},
		Ended:       history.Local{Get: l.history},
		Images:      tracker.PoolImages{Tracker: leading(l, func(s *Server) *tracker.Tracker { return s.tracker }), Now: m.cfg.Now},
		Snapshots:   backup.Saver{View: l.linearizable, History: l.archive},
		RaftMetrics: consensus.Collector{Node: l.node},
		PoolMetrics: PoolMetrics{l, exporter.New(exporter.Config{View: l.view, Connected: l.connected, Now: m.cfg.Now})},
	}
}

// archive is the history of the ended tasks for a snapshot of the state at an index.
func (l *localServer) archive(ctx context.Context, index uint64) (past backup.History, err error) {
	h, err := l.history()
	if err == nil {
		past.About, past.Blocks, err = h.Archive(ctx, index)
	}
	return past, err
}

// PoolMetrics collects the metrics of the pool on the host that leads it; on any other it has none.
type PoolMetrics struct {
	server   *localServer
	exporter *exporter.Pool
}

var _ prometheus.Collector = PoolMetrics{}

// Describe describes nothing: only a leader has metrics of the pool.
func (PoolMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the pool.
func (p PoolMetrics) Collect(ch chan<- prometheus.Metric) {
	if own := p.server.Load(); own != nil && own.Leads() {
		p.exporter.Collect(ch)
		own.scheduler.Placements.Collect(ch)
	}
}
