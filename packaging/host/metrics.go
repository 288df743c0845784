package host

import (
	"pinion/api"
	"pinion/node"
	"pinion/node/containerd"
	"pinion/node/exporter"
	"pinion/node/machine"
	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// sharedOf is the state that the API endpoints of a host share, with the metrics of the host, its agent and its server.
func sharedOf(h *host) *api.Shared {
	shared := api.NewShared()
	shared.Metrics.Process.MustRegister(h.member.RaftMetrics, exporter.Traffic{Proxy: h.agent.proxy})
	shared.Metrics.Host.MustRegister(exporter.New(exporter.Config{
		Host: func() spec.Host { return h.agent.host }, GPUs: h.agent.GPUs.Inventory, Usage: h.agent.GPUs.Usage, LastXid: h.agent.GPUs.LastXid,
		Containers: func() []*task.Container { return node.Containers(h.agent.Node) },
		Use:        containerd.NewMeter(h.runtime).Container,
		Expires:    h.member.CertificateExpires,
		Disk: func() (free, total int64) {
			disk, err := machine.MeasureDisk(h.dir.Path)
			if err != nil {
				return 0, 0 // it is not known: no metric says it
			}
			return disk.Free, disk.Size
		},
		AccessLogDropped: h.agent.proxy.Dropped,
	}))
	shared.Metrics.Pool.MustRegister(h.member.PoolMetrics)
	return shared
}
