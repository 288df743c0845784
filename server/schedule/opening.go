package schedule

import (
	"cmp"
	"slices"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// Opening is the earliest place of a request that has none now, if nothing else comes: when, and on which hosts.
type Opening struct {
	At    time.Time // zero: nobody knows, because tasks would have to stop that do not end by themselves
	Hosts []Share
}

// Share is how many tasks of the request go to a host.
type Share struct {
	HostID string
	Tasks  int
}

// Ends tells when a task is over at the latest; zero: it does not end by itself.
type Ends func(*spec.Task) time.Time

// never is when a task ends that does not.
var never = time.Unix(1<<60, 0)

// openFilters are those whose refusal does not pass when tasks end.
var openFilters = []filter{active, connected, isolated, attributes, members}

// step is a moment from which a host has room for more tasks of a request.
type step struct {
	at      time.Time
	missing int // GPUs of tasks that would have to stop, when that is never
	host    *Host
	more    int
}

func (s step) compare(other step) int {
	return cmp.Or(s.at.Compare(other.at), cmp.Compare(s.missing, other.missing), cmp.Compare(s.host.at, other.host.at))
}

// Opening finds the earliest place; ok is false when no hosts, however empty, have room for all tasks of the request.
func (f *Fleet) Opening(r Request, ends Ends) (o Opening, ok bool) {
	c, a := f.crew(r.Run.Cluster), newAsk(r)
	if a.read(c.hosts) != nil {
		return Opening{}, false
	}
	var steps []step
	for _, h := range c.hosts {
		if _, refused := a.refusal(h, openFilters); !refused {
			steps = append(steps, a.stepsOn(h, ends)...)
		}
	}
	slices.SortFunc(steps, step.compare)
	left := r.Run.Count
	for _, s := range steps {
		if left == 0 {
			break
		}
		share := min(left, s.more)
		left -= share
		o.add(s.host.Host.ID, share)
		if o.At = s.at; s.at.Equal(never) {
			o.At = time.Time{}
		}
	}
	return o, left == 0
}

func (o *Opening) add(hostID string, tasks int) {
	at := slices.IndexFunc(o.Hosts, func(s Share) bool { return s.HostID == hostID })
	if at < 0 {
		o.Hosts = append(o.Hosts, Share{HostID: hostID})
		at = len(o.Hosts) - 1
	}
	o.Hosts[at].Tasks += tasks
}

// ending is a task of a host and when it is over.
type ending struct {
	task *spec.Task
	at   time.Time
}

func (h *Host) endings(ends Ends) []ending {
	all := make([]ending, 0, len(h.tasks))
	for _, task := range h.tasks {
		at := ends(task)
		if at.IsZero() {
			at = never
		}
		all = append(all, ending{task, at})
	}
	slices.SortStableFunc(all, func(a, b ending) int { return a.at.Compare(b.at) })
	return all
}

// stepsOn are the moments from which the host has room for one task more, as its tasks end one after the other.
func (a *ask) stepsOn(h *Host, ends Ends) []step {
	d := a.on(h)
	left := a.amountsOn(h)
	var (
		steps   []step
		room    = left.room(d, a.Run.Count)
		missing int
	)
	if room > 0 {
		steps = append(steps, step{host: h, more: room})
	}
	for _, e := range h.endings(ends) {
		if room == a.Run.Count {
			break
		}
		a.release(&left, h, e.task)
		if e.at.Equal(never) {
			missing += len(e.task.GPUs())
		}
		if now := left.room(d, a.Run.Count); now > room {
			steps = append(steps, step{at: e.at, missing: missing, host: h, more: now - room})
			room = now
		}
	}
	return steps
}

// amounts are what a host has left at some moment.
type amounts struct {
	cpu, memory int64
	gpus        int
	ports       map[int]bool // that are taken, TCP
	udpPorts    map[int]bool
	apart       int // tasks that those of the request may not be together with; -1: the request does not mind
}

func (a *ask) amountsOn(h *Host) amounts {
	m := amounts{h.Free.CPU, h.Free.MemoryMiB, len(h.Free.GPUs), h.Free.Ports, h.Free.UDPPorts, -1}
	if a.distinct {
		m.apart = h.count(a.group)
	}
	return m
}

// release adds what the task held. GPUs that are not healthy are offered to nobody.
func (a *ask) release(m *amounts, h *Host, t *spec.Task) {
	m.cpu += t.CPU
	m.memory += t.MemoryMiB
	for _, uuid := range t.GPUs() {
		if device, there := h.Host.GPUs.Device(uuid); there && device.Health == gpu.Healthy {
			m.gpus++
		}
	}
	m.ports, m.udpPorts = without(m.ports, t.Ports), without(m.udpPorts, t.UDPPorts)
	if a.distinct && t.Group == a.group && t.DesiredStatus != spec.Stopped {
		m.apart--
	}
}

func without(taken map[int]bool, ports []int) map[int]bool {
	if len(ports) == 0 {
		return taken
	}
	left := make(map[int]bool, len(taken))
	for port := range taken {
		if !slices.Contains(ports, port) {
			left[port] = true
		}
	}
	return left
}

// room is how many tasks that take so much there is room for, at most so many.
func (m *amounts) room(d spec.Demand, most int) int {
	room := int64(most)
	if d.CPU > 0 {
		room = min(room, m.cpu/d.CPU)
	}
	if d.MemoryMiB > 0 {
		room = min(room, m.memory/d.MemoryMiB)
	}
	if gpus := d.AllGPUs(); gpus > 0 {
		room = min(room, int64(m.gpus/gpus))
	}
	if len(d.Ports)+len(d.UDPPorts) > 0 || m.apart >= 0 {
		room = min(room, 1)
	}
	taken := func(ports map[int]bool) func(int) bool { return func(port int) bool { return ports[port] } }
	if slices.ContainsFunc(d.Ports, taken(m.ports)) || slices.ContainsFunc(d.UDPPorts, taken(m.udpPorts)) || m.apart > 0 {
		return 0
	}
	return int(max(0, room))
}
