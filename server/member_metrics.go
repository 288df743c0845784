package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pinion/server/consensus"
	"pinion/server/exporter"
)

// RaftMetrics are those of the server that this host is; none while it is an agent.
type RaftMetrics struct{ server *localServer }

// PoolMetrics are those of the pool, on the host that leads it; none on any other.
type PoolMetrics struct {
	server   *localServer
	exporter *exporter.Pool
}

var (
	_ prometheus.Collector = RaftMetrics{}
	_ prometheus.Collector = PoolMetrics{}
)

// Describe describes nothing: a host may be an agent, and become a server.
func (RaftMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the consensus node.
func (r RaftMetrics) Collect(ch chan<- prometheus.Metric) {
	if own := r.server.Load(); own != nil {
		consensus.CollectMetrics(own.node, ch)
	}
}

// Describe describes nothing: only a leader has metrics of the pool.
func (PoolMetrics) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the pool.
func (p PoolMetrics) Collect(ch chan<- prometheus.Metric) {
	if own := p.server.Load(); own != nil && own.Leads() {
		p.exporter.Collect(ch)
		own.scheduler.Placements.Collect(ch)
	}
}

// CertificateExpires is when the certificate of the host ends; zero while it has none.
func CertificateExpires(m *Member) time.Time { return m.cfg.Identity.Expires() }
