package exporter

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"pinion/node/runtime"
)

// ofContainers is about the containers that run. Readings are shared by the scrapes within fresh, and one that takes too long holds up none of
// the others: it is missing, and counted.
func (e *Exporter) ofContainers(containers []container) []prometheus.Metric {
	e.mu.Lock()
	defer e.mu.Unlock()
	if time.Since(e.readAt) < fresh {
		return e.containers
	}
	running := slices.DeleteFunc(slices.Clone(containers), func(c container) bool { return c.is.StartedAt.IsZero() || c.is.Ended })
	uses := e.read(running)
	var all metrics
	unread := 0
	for i := range running {
		c := &running[i]
		all.counter("pinion_container_restarts_total", "How often the container was started again by its restart policy, since the host was started.", float64(c.is.Restarts), c.labels)
		if uses[i] == nil {
			unread++
			continue
		}
		all.use(c, uses[i])
	}
	all.gauge("pinion_containers_unread", "Containers that run and of which nothing could be read: they have just ended, or their runtime hangs.", float64(unread), nil)
	e.readAt = time.Now()
	e.containers = all.list
	return e.containers
}

// read measures the containers; nil for one that cannot be read.
func (e *Exporter) read(running []container) []*runtime.Usage {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	uses := make([]*runtime.Usage, len(running))
	var group errgroup.Group
	group.SetLimit(readAtOnce)
	for i := range running {
		group.Go(func() error {
			if use, err := e.config.Use(ctx, running[i].of.ID); err == nil {
				uses[i] = &use
			}
			return nil
		})
	}
	_ = group.Wait()
	return uses
}

// use adds the usage of a container, by cAdvisor's names.
func (m *metrics) use(c *container, u *runtime.Usage) {
	of := c.labels.with("image", c.of.Def.Image, "name", c.of.ID)
	m.gauge("container_last_seen", "When the container was read, as seconds since 1970.", float64(u.At.UnixMilli())/1000, of)
	m.counter("container_cpu_usage_seconds_total", "CPU time that the container has taken.", u.CPU.Seconds(), of)
	m.counter("container_cpu_user_seconds_total", "CPU time of the container in its programs.", u.UserCPU.Seconds(), of)
	m.counter("container_cpu_system_seconds_total", "CPU time of the container in the kernel.", u.KernelCPU.Seconds(), of)
	m.gauge("container_memory_working_set_bytes", "Memory of the container, without what the kernel can drop at once.", float64(u.Memory), of)
	if u.PeakMemory > 0 {
		m.gauge("container_memory_max_usage_bytes", "The most memory that the container has had.", float64(u.PeakMemory), of)
	}
	if limit := c.of.Def.Memory; limit > 0 {
		m.gauge("container_spec_memory_limit_bytes", "Memory that the container may have.", float64(limit<<20), of)
	}
	m.gauge("container_processes", "Processes of the container.", float64(u.Processes), of)
	m.counter("container_oom_events_total", "Processes of the container that the kernel has killed for memory.", float64(u.OOMKills), of)
	m.gauge("container_start_time_seconds", "When the container started, as seconds since 1970.", float64(c.is.StartedAt.Unix()), of)
	if u.Disk != nil {
		m.counter("container_fs_reads_bytes_total", "Bytes that the container has read from block devices.", float64(u.Disk.Read), of)
		m.counter("container_fs_writes_bytes_total", "Bytes that the container has written to block devices.", float64(u.Disk.Written), of)
	}
	if c.is.Definition.NetworkMode == runtime.NetworkAwsvpc && c.is.Siblings[0] != c.of {
		return // the containers of the task share its interfaces, which are the first one's here
	}
	for name, t := range u.Interfaces {
		via := of.with("interface", name)
		m.counter("container_network_receive_bytes_total", "Bytes that the interface has received.", float64(t.ReceivedBytes), via)
		m.counter("container_network_receive_packets_total", "Packets that the interface has received.", float64(t.ReceivedPackets), via)
		m.counter("container_network_receive_packets_dropped_total", "Packets that the interface has dropped as they came.", float64(t.ReceiveDropped), via)
		m.counter("container_network_receive_errors_total", "Errors of the interface as packets came.", float64(t.ReceiveErrors), via)
		m.counter("container_network_transmit_bytes_total", "Bytes that the interface has sent.", float64(t.TransmitBytes), via)
		m.counter("container_network_transmit_packets_total", "Packets that the interface has sent.", float64(t.TransmitPackets), via)
		m.counter("container_network_transmit_packets_dropped_total", "Packets that the interface was to send and has dropped.", float64(t.TransmitDropped), via)
		m.counter("container_network_transmit_errors_total", "Errors of the interface as packets were sent.", float64(t.TransmitErrors), via)
	}
}
