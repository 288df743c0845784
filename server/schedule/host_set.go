package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// HostSet is all hosts as the planner sees them, kept up to date change by change: what it says follows from the hosts and
// tasks it was told of, however it got there. It is for one goroutine at a time.
type HostSet struct {
	clusters     map[string]*clusterHosts // by cluster
	hosts        map[string]*Host
	disconnected map[string]*Host // those that are not connected
	gpuBoards    gpu.TopologyCache

	reconnected map[string]string // see Returned
}

// NewHostSet is one without hosts.
func NewHostSet() *HostSet {
	return &HostSet{clusters: map[string]*clusterHosts{}, hosts: map[string]*Host{}, disconnected: map[string]*Host{}, reconnected: map[string]string{}}
}

// Plan decides the requests in their order. What a task takes is taken from then on, for the requests that follow and for
// later plans: PutTask says again what is known of it, and DropTask that it came to nothing.
func (f *HostSet) Plan(requests []Request) []Decision {
	decisions := make([]Decision, 0, len(requests))
	for _, request := range requests {
		decisions = append(decisions, f.cluster(request.Run.Cluster).decide(request))
	}
	return decisions
}

// PutHost tells of a host as it is now. connected: it was heard of lately.
func (f *HostSet) PutHost(host *spec.Host, connected bool) {
	known := f.hosts[host.ID]
	if known != nil && known.Host.Cluster != host.Cluster {
		f.RemoveHost(host.ID)
		known = nil
	}
	if known == nil {
		f.add(Host{Host: host, Free: spec.NewFree(host, nil), Connected: connected})
		return
	}
	c := f.cluster(host.Cluster)
	known.Host = host
	f.SetConnected(host.ID, connected)
	known.Free = spec.NewFree(host, known.tasks)
	known.readInventory(&f.gpuBoards)
	c.markChanged(known)
}

// RemoveHost forgets a host and its tasks.
func (f *HostSet) RemoveHost(id string) {
	if h := f.hosts[id]; h != nil {
		f.cluster(h.Host.Cluster).remove(h)
		delete(f.hosts, id)
		delete(f.disconnected, id)
	}
}

// SetConnected says whether the host was heard of lately.
func (f *HostSet) SetConnected(id string, connected bool) {
	if h := f.hosts[id]; h != nil {
		f.setConnected(h, connected)
	}
}

func (f *HostSet) setConnected(h *Host, connected bool) {
	connected = connected && !h.Host.Lost()
	if h.Connected == connected {
		return
	}
	id := h.Host.ID
	if h.Connected = connected; connected {
		delete(f.disconnected, id)
		f.reconnected[id] = h.Host.Cluster
	} else {
		f.disconnected[id] = h
	}
	f.cluster(h.Host.Cluster).markChanged(h)
}

// Reconnected tells which hosts were not connected and are now, since it was asked last: their clusters by host id.
func (f *HostSet) Reconnected() map[string]string {
	returned := f.reconnected
	f.reconnected = map[string]string{}
	return returned
}

// PutTask tells of a task as it is now: while it has a place and is not STOPPED it holds what it takes there. Tasks of
// hosts that are not known do not count.
func (f *HostSet) PutTask(t *spec.Task) {
	c := f.cluster(t.Cluster)
	c.removePending(t.ID)
	h := f.hosts[t.HostID]
	if h == nil {
		return
	}
	at, known := h.find(t.ID)
	switch {
	case t.LastStatus == spec.Stopped:
		if known {
			c.releaseAt(h, at)
		}
	case !known:
		c.assume(h, t)
	case sameDemand(h.tasks[at], t):
		h.tasks[at] = t
	default:
		c.releaseAt(h, at)
		c.assume(h, t)
	}
}

// DropTask forgets a task that was planned and will not be.
func (f *HostSet) DropTask(t *spec.Task) {
	if h := f.hosts[t.HostID]; h != nil {
		if at, known := h.find(t.ID); known {
			f.cluster(t.Cluster).releaseAt(h, at)
		}
	}
}

// AddPending tells of a task that waits for a place and will take so much: what is popular follows from these tasks too.
func (f *HostSet) AddPending(t *spec.Task, d spec.Demand) {
	c := f.cluster(t.Cluster)
	c.removePending(t.ID)
	c.pending[t.ID] = shapeOf(d)
	c.profile.add(c.pending[t.ID], 1)
}

func (c *clusterHosts) removePending(taskID string) {
	if shape, waits := c.pending[taskID]; waits {
		c.profile.add(shape, -1)
		delete(c.pending, taskID)
	}
}

// sameDemand says whether two moments of one task take the same of its host, which only the planner's own and the state's
// may not.
func sameDemand(a, b *spec.Task) bool {
	return a == b || a.CPU == b.CPU && a.MemoryMiB == b.MemoryMiB && slices.Equal(a.Ports, b.Ports) && slices.Equal(a.UDPPorts, b.UDPPorts) &&
		slices.EqualFunc(a.Containers, b.Containers, func(a, b spec.Container) bool { return slices.Equal(a.GPUs, b.GPUs) })
}

// add takes in a host that is not known.
func (f *HostSet) add(host Host) {
	if host.Tasks != nil {
		host.tasks = slices.DeleteFunc(slices.Clone(host.Tasks()), func(t *spec.Task) bool { return t.LastStatus == spec.Stopped })
		slices.SortStableFunc(host.tasks, func(a, b *spec.Task) int { return cmp.Compare(a.ID, b.ID) })
	}
	f.hosts[host.Host.ID] = &host
	if host.Connected = host.Connected && !host.Host.Lost(); !host.Connected {
		f.disconnected[host.Host.ID] = &host
	}
	f.cluster(host.Host.Cluster).add(&host)
}

func (f *HostSet) cluster(cluster string) *clusterHosts {
	c := f.clusters[cluster]
	if c == nil {
		c = newClusterHosts(&f.gpuBoards)
		f.clusters[cluster] = c
	}
	return c
}
