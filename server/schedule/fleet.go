package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// Fleet is all hosts as the planner sees them, kept up to date change by change: what it says follows from the hosts and
// tasks it was told of, however it got there. It is for one goroutine at a time.
type Fleet struct {
	crews   map[string]*crew // by cluster
	hosts   map[string]*Host
	silent  map[string]*Host // those that are not connected
	wirings gpu.Boards

	returned map[string]string // see Returned
}

// NewFleet is one without hosts.
func NewFleet() *Fleet {
	return &Fleet{crews: map[string]*crew{}, hosts: map[string]*Host{}, silent: map[string]*Host{}, returned: map[string]string{}}
}

// Plan decides the requests in their order. What a task takes is taken from then on, for the requests that follow and for
// later plans: PutTask says again what is known of it, and DropTask that it came to nothing.
func (f *Fleet) Plan(requests []Request) []Decision {
	decisions := make([]Decision, 0, len(requests))
	for _, request := range requests {
		decisions = append(decisions, f.crew(request.Run.Cluster).decide(request))
	}
	return decisions
}

// PutHost tells of a host as it is now. connected: it was heard of lately.
func (f *Fleet) PutHost(host *spec.Host, connected bool) {
	known := f.hosts[host.ID]
	if known != nil && known.Host.Cluster != host.Cluster {
		f.RemoveHost(host.ID)
		known = nil
	}
	if known == nil {
		f.add(Host{Host: host, Free: spec.NewFree(host, nil), Connected: connected})
		return
	}
	c := f.crew(host.Cluster)
	known.Host = host
	f.Connect(host.ID, connected)
	known.Free = spec.NewFree(host, known.tasks)
	known.know(&f.wirings)
	c.touch(known)
}

// RemoveHost forgets a host and its tasks.
func (f *Fleet) RemoveHost(id string) {
	if h := f.hosts[id]; h != nil {
		f.crew(h.Host.Cluster).leave(h)
		delete(f.hosts, id)
		delete(f.silent, id)
	}
}

// Connect says whether the host was heard of lately.
func (f *Fleet) Connect(id string, connected bool) {
	if h := f.hosts[id]; h != nil {
		f.connect(h, connected)
	}
}

func (f *Fleet) connect(h *Host, connected bool) {
	connected = connected && !h.Host.Lost()
	if h.Connected == connected {
		return
	}
	id := h.Host.ID
	if h.Connected = connected; connected {
		delete(f.silent, id)
		f.returned[id] = h.Host.Cluster
	} else {
		f.silent[id] = h
	}
	f.crew(h.Host.Cluster).touch(h)
}

// Returned tells which hosts were not connected and are now, since it was asked last: their clusters by host id.
func (f *Fleet) Returned() map[string]string {
	returned := f.returned
	f.returned = map[string]string{}
	return returned
}

// PutTask tells of a task as it is now: while it has a place and is not STOPPED it holds what it takes there. Tasks of
// hosts that are not known do not count.
func (f *Fleet) PutTask(t *spec.Task) {
	c := f.crew(t.Cluster)
	c.stopWaiting(t.ID)
	h := f.hosts[t.HostID]
	if h == nil {
		return
	}
	at, known := h.find(t.ID)
	switch {
	case t.LastStatus == spec.Stopped:
		if known {
			c.release(h, at)
		}
	case !known:
		c.hold(h, t)
	case holdsSame(h.tasks[at], t):
		h.tasks[at] = t
	default:
		c.release(h, at)
		c.hold(h, t)
	}
}

// DropTask forgets a task that was planned and will not be.
func (f *Fleet) DropTask(t *spec.Task) {
	if h := f.hosts[t.HostID]; h != nil {
		if at, known := h.find(t.ID); known {
			f.crew(t.Cluster).release(h, at)
		}
	}
}

// Await tells of a task that waits for a place and will take so much: what is popular follows from these tasks too.
func (f *Fleet) Await(t *spec.Task, d spec.Demand) {
	c := f.crew(t.Cluster)
	c.stopWaiting(t.ID)
	c.waiting[t.ID] = shapeOf(d)
	c.popular.note(c.waiting[t.ID], 1)
}

func (c *crew) stopWaiting(taskID string) {
	if shape, waits := c.waiting[taskID]; waits {
		c.popular.note(shape, -1)
		delete(c.waiting, taskID)
	}
}

// holdsSame says whether two moments of one task take the same of its host, which only the planner's own and the state's
// may not.
func holdsSame(a, b *spec.Task) bool {
	return a == b || a.CPU == b.CPU && a.MemoryMiB == b.MemoryMiB && slices.Equal(a.Ports, b.Ports) && slices.Equal(a.UDPPorts, b.UDPPorts) &&
		slices.EqualFunc(a.Containers, b.Containers, func(a, b spec.Container) bool { return slices.Equal(a.GPUs, b.GPUs) })
}

// add takes in a host that is not known.
func (f *Fleet) add(host Host) {
	if host.Tasks != nil {
		host.tasks = slices.DeleteFunc(slices.Clone(host.Tasks()), func(t *spec.Task) bool { return t.LastStatus == spec.Stopped })
		slices.SortStableFunc(host.tasks, func(a, b *spec.Task) int { return cmp.Compare(a.ID, b.ID) })
	}
	f.hosts[host.Host.ID] = &host
	if host.Connected = host.Connected && !host.Host.Lost(); !host.Connected {
		f.silent[host.Host.ID] = &host
	}
	f.crew(host.Host.Cluster).enter(&host)
}

func (f *Fleet) crew(cluster string) *crew {
	c := f.crews[cluster]
	if c == nil {
		c = newCrew(&f.wirings)
		f.crews[cluster] = c
	}
	return c
}
