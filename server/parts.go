package server

import (
	"net/http"

	"pinion/server/admission"
	"pinion/server/exporter"
)

// Parts are what the API and the agent of a host use of its membership. Each has what it needs of it and no more.
type Parts struct {
	Leadership  Leadership
	Forwarder   http.RoundTripper // to the API of other hosts
	Hosts       HostAdmin
	Keys        Keys
	JoinTokens  *admission.JoinTokens // where this host leads
	Secrets     Secrets
	Queue       Queue
	Services    Rollouts
	Ended       EndedTasks
	Images      PoolImages
	OwnTasks    OwnTasks
	ACME        ACMECache
	RaftMetrics RaftMetrics
	PoolMetrics PoolMetrics
}

// parts wires the parts of a member that is made.
func (m *Member) parts() Parts {
	leader := Leadership{server: &m.server, tracker: m.leader, peers: m.peers, open: m.ctx}
	return Parts{
		Leadership:  leader,
		Forwarder:   &forwarder{leader: m.leader, client: m.client, anyHost: m.anyHost, cache: m.poolCache, server: &m.server},
		Hosts:       HostAdmin{&m.server, m.cfg.Port},
		Keys:        Keys{&m.server},
		JoinTokens:  &admission.JoinTokens{Store: m, Fingerprint: func() string { return rootOf(&m.server, m.cfg.Identity) }, Now: m.cfg.Now},
		Secrets:     Secrets{&m.server},
		Queue:       Queue{&m.server},
		Services:    Rollouts{&m.server},
		Ended:       EndedTasks{&m.server},
		Images:      PoolImages{&m.server, m.cfg.Now},
		OwnTasks:    OwnTasks{leader, m.cfg.HostID},
		ACME:        ACMECache{leader, m.cfg.HostID},
		RaftMetrics: RaftMetrics{&m.server},
		PoolMetrics: PoolMetrics{&m.server, exporter.New(exporter.Config{View: m.server.view, Connected: m.Connected, Now: m.cfg.Now})},
	}
}
