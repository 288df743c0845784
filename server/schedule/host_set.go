package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// HostSet mirrors all hosts and their tasks for the planner and is updated change by change. Its answers depend only on the
// current hosts, their images and tasks, not on the order of the updates. It is not safe for concurrent use.
type HostSet struct {
	clusters     map[string]*clusterHosts // by cluster
	hosts        map[string]*Host
	disconnected map[string]*Host // hosts without a recent heartbeat
	gpuBoards    gpu.TopologyCache

	reconnected   map[string]string            // see Reconnected
	listenerPorts []int                        // that no task may have; see SetListenerPorts
	daemons       map[string][]*criticalDaemon // by cluster
}

// NewHostSet returns an empty host set.
func NewHostSet() *HostSet {
	return &HostSet{clusters: map[string]*clusterHosts{}, hosts: map[string]*Host{}, disconnected: map[string]*Host{}, reconnected: map[string]string{}}
}

// Plan decides the requests in order. A planned task holds its resources for the following requests and for later plans,
// until PutTask updates the task or DropTask discards it.
func (f *HostSet) Plan(requests []Request) []Decision {
	decisions := make([]Decision, 0, len(requests))
	for _, request := range requests {
		decisions = append(decisions, f.cluster(request.Run.Cluster).decideFirst(request))
	}
	return decisions
}

// PutHost adds or updates a host. connected means that the pool has a recent heartbeat of it.
func (f *HostSet) PutHost(host *spec.Host, connected bool) {
	known := f.hosts[host.ID]
	if known != nil && known.Host.Cluster != host.Cluster {
		f.RemoveHost(host.ID)
		known = nil
	}
	if known == nil {
		added := Host{Host: host, listenerPorts: f.listenerPorts, daemons: daemonsFor(host, f.daemons), Connected: connected}
		added.Free = added.free()
		f.add(added)
		return
	}
	c := f.cluster(host.Cluster)
	known.Host, known.daemons = host, daemonsFor(host, f.daemons)
	f.SetConnected(host.ID, connected)
	known.Free = known.free()
	known.readInventory(&f.gpuBoards)
	c.markChanged(known)
}

// SetListenerPorts takes the ports of the pool's listeners off every host, in place of the previous ones.
func (f *HostSet) SetListenerPorts(ports []int) {
	if slices.Equal(ports, f.listenerPorts) {
		return
	}
	f.listenerPorts = ports
	for _, h := range f.hosts {
		h.listenerPorts = ports
		h.derive()
		f.cluster(h.Host.Cluster).markChanged(h)
	}
}

// RemoveHost removes a host and its tasks.
func (f *HostSet) RemoveHost(id string) {
	if h := f.hosts[id]; h != nil {
		f.cluster(h.Host.Cluster).remove(h)
		delete(f.hosts, id)
		delete(f.disconnected, id)
	}
}

// SetConnected records whether the pool has a recent heartbeat of the host. Unknown hosts are ignored.
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

// Reconnected returns the hosts that became connected since the last call: cluster by host id.
func (f *HostSet) Reconnected() map[string]string {
	returned := f.reconnected
	f.reconnected = map[string]string{}
	return returned
}

// PutTask adds or updates a task. A task with a host holds its resources there until it is STOPPED; tasks of unknown hosts
// are ignored.
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
		if !h.sameForDaemons(h.tasks[at], t) {
			c.markChanged(h)
		}
		h.tasks[at] = t
	default:
		c.releaseAt(h, at)
		c.assume(h, t)
	}
}

// DropTask releases the resources of a planned task that will not be recorded.
func (f *HostSet) DropTask(t *spec.Task) {
	if h := f.hosts[t.HostID]; h != nil {
		if at, known := h.find(t.ID); known {
			f.cluster(t.Cluster).releaseAt(h, at)
		}
	}
}

// AddPending counts a pending task with its demand in the workload profile, beside the placed tasks.
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

// sameDemand reports whether two versions of one task hold the same resources of its host. They differ only when the
// planner's version and the recorded one do.
func sameDemand(a, b *spec.Task) bool {
	return a == b || a.CPU == b.CPU && a.MemoryMiB == b.MemoryMiB && slices.Equal(a.Ports, b.Ports) && slices.Equal(a.UDPPorts, b.UDPPorts) &&
		slices.EqualFunc(a.Containers, b.Containers, sameGPUs)
}

// sameGPUs reports whether two versions of one container hold the same of the host's GPUs.
func sameGPUs(a, b spec.Container) bool {
	return slices.Equal(a.GPUs, b.GPUs) && (a.Share == b.Share || a.Share != nil && b.Share != nil && *a.Share == *b.Share)
}

// add adds a host that is not in the set yet.
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
