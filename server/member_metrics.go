package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/server/consensus"
	"pinion/server/exporter"
)

// RaftMetrics are those of the server that this host is; none while it is an agent.
type RaftMetrics struct{ Member *Member }

// PoolMetrics are those of the pool, on the host that leads it; none on any other.
type PoolMetrics struct {
	member   *Member
	exporter *exporter.Pool
}

// NewPoolMetrics makes the metrics of the pool of a member.
func NewPoolMetrics(m *Member) PoolMetrics {
	return PoolMetrics{m, exporter.New(exporter.Config{View: m.serverView, Connected: m.Connected, Now: m.cfg.now()})}
}

var (
	_ prometheus.Collector = RaftMetrics{}
	_ prometheus.Collector = PoolMetrics{}
)

// Describe describes nothing: a host may be an agent, and become a server.
func (RaftMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the consensus node.
func (r RaftMetrics) Collect(ch chan<- prometheus.Metric) {
	if own := r.Member.localServer(); own != nil {
		consensus.CollectMetrics(own.node, ch)
	}
}

// Describe describes nothing: only a leader has metrics of the pool.
func (PoolMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the pool.
func (p PoolMetrics) Collect(ch chan<- prometheus.Metric) {
	if own := p.member.localServer(); own != nil && own.Leads() {
		p.exporter.Collect(ch)
		own.scheduler.Placements.Collect(ch)
	}
}

// CertificateExpires is when the certificate of the host ends; zero while it has none.
func CertificateExpires(m *Member) time.Time { return m.cfg.Identity.Expires() }
