package exporter

import (
	"strconv"

	"pinion/gpu"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/spec"
)

// States of hosts and GPUs.
const (
	up           = "up"
	draining     = "draining"
	down         = "down"
	lost         = "lost"
	free         = "free"
	owned        = "allocated"
	shared       = "shared"
	quarantined  = "quarantined"
	unhealthy    = "unhealthy"
	partitioning = "partitioning"
)

// hosts counts hosts and their GPUs.
func (c *count) hosts() {
	byState, byFree := labelCounts[[2]string]{}, labelCounts[[2]string]{}
	byModel := labelCounts[[3]string]{}
	for _, host := range c.view.Hosts("") {
		state := c.stateOf(host)
		byState.add([2]string{host.Cluster, state}, 1)
		c.gauge(hostUp, metric.Bool(state == up || state == draining), host.Cluster, host.Name, host.ID)
		if len(host.GPUs.Devices) == 0 {
			continue
		}
		own := labelCounts[string]{}
		for uuid, is := range c.gpusOf(host, state) {
			own[is]++
			device, _ := host.GPUs.Device(uuid)
			c.omitted += byModel.add([3]string{host.Cluster, device.Model, is}, 1)
		}
		for is, n := range own {
			c.gauge(hostGPUs, n, host.Cluster, host.Name, host.ID, is)
		}
		if state == up {
			byFree.add([2]string{host.Cluster, strconv.Itoa(int(own[free]))}, 1)
		}
	}
	for key, n := range byState {
		c.gauge(hosts, n, key[0], key[1])
	}
	for key, n := range byModel {
		c.gauge(gpus, n, key[0], key[1], key[2])
	}
	for key, n := range byFree {
		c.gauge(freeGPUs, n, key[0], key[1])
	}
}

func (c *count) stateOf(host *spec.Host) string {
	switch {
	case host.Lost():
		return lost
	case !c.config.Connected(host.ID):
		return down
	case host.Status == spec.HostDraining:
		return draining
	}
	return up
}

// gpusOf are the states of the GPUs of a host, by UUID. What a task has is allocated whatever has become of it since.
func (c *count) gpusOf(host *spec.Host, state string) map[string]string {
	is := make(map[string]string, len(host.GPUs.Devices))
	for i := range host.GPUs.Devices {
		d := &host.GPUs.Devices[i]
		switch {
		case state != up:
			is[d.UUID] = state
		case d.Health == gpu.Quarantined:
			is[d.UUID] = quarantined
		case d.Health != gpu.Healthy:
			is[d.UUID] = unhealthy
		case host.Partitions.Removes(d):
			is[d.UUID] = partitioning
		default:
			is[d.UUID] = free
		}
	}
	for _, task := range c.view.TasksOn(host.ID) {
		if task.LastStatus == spec.Stopped {
			continue
		}
		for i := range task.Containers {
			for _, uuid := range task.Containers[i].GPUs {
				if _, has := is[uuid]; !has {
					continue
				}
				if is[uuid] = owned; task.Containers[i].Share != nil {
					is[uuid] = shared
				}
			}
		}
	}
	return is
}
