package schedule

import (
	"cmp"
	"slices"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// Reservation is the earliest start of a request that does not fit now, and its hosts, assuming that no other task starts.
type Reservation struct {
	At    time.Time // shadow time; zero: unknown, because tasks without a time limit would have to end first
	Hosts []Allotment
}

// Allotment is the number of tasks of the request on one host.
type Allotment struct {
	HostID string
	Tasks  int
}

// EndTime returns the latest end of a task; zero: the task has no time limit.
type EndTime func(*spec.Task) time.Time

// neverEnds stands for the end of a task without a time limit; it sorts after every real end.
var neverEnds = time.Unix(1<<60, 0)

// staticFilters are the filters whose refusal stays when tasks end.
var staticFilters = []filter{active, connected, isolation, attributes, memberOf}

// availability is a moment from which a host has slots for more tasks of a request.
type availability struct {
	at            time.Time
	unboundedGPUs int // when at is neverEnds: GPUs of the tasks that would have to stop
	host          *Host
	more          int
}

func (s availability) compare(other availability) int {
	return cmp.Or(s.at.Compare(other.at), cmp.Compare(s.unboundedGPUs, other.unboundedGPUs), cmp.Compare(s.host.at, other.host.at))
}

// FindReservation finds the earliest start of a request; ok is false when all its tasks would not fit on empty hosts either.
func (f *HostSet) FindReservation(r Request, ends EndTime) (o Reservation, ok bool) {
	c, a := f.cluster(r.Run.Cluster), newEvaluation(r)
	if a.parse(c.hosts) != nil {
		return Reservation{}, false
	}
	var steps []availability
	for _, h := range c.hosts {
		if _, refused := a.refusal(h, staticFilters); !refused {
			steps = append(steps, a.availabilityOn(h, ends)...)
		}
	}
	slices.SortFunc(steps, availability.compare)
	left := r.Run.Count
	for _, s := range steps {
		if left == 0 {
			break
		}
		share := min(left, s.more)
		left -= share
		o.add(s.host.Host.ID, share)
		if o.At = s.at; s.at.Equal(neverEnds) {
			o.At = time.Time{}
		}
	}
	return o, left == 0
}

func (o *Reservation) add(hostID string, tasks int) {
	at := slices.IndexFunc(o.Hosts, func(s Allotment) bool { return s.HostID == hostID })
	if at < 0 {
		o.Hosts = append(o.Hosts, Allotment{HostID: hostID})
		at = len(o.Hosts) - 1
	}
	o.Hosts[at].Tasks += tasks
}

// taskEnd is a task of a host with its latest end.
type taskEnd struct {
	task *spec.Task
	at   time.Time
}

func (h *Host) taskEnds(ends EndTime) []taskEnd {
	all := make([]taskEnd, 0, len(h.tasks))
	for _, task := range h.tasks {
		at := ends(task)
		if at.IsZero() {
			at = neverEnds
		}
		all = append(all, taskEnd{task, at})
	}
	slices.SortStableFunc(all, func(a, b taskEnd) int { return a.at.Compare(b.at) })
	return all
}

// availabilityOn lists the moments at which the host gains slots for the request, as its tasks end one after the other.
func (a *evaluation) availabilityOn(h *Host, ends EndTime) []availability {
	d := a.demandOn(h)
	left := a.capacityOn(h)
	var (
		steps   []availability
		room    = left.slots(d, a.Run.Count)
		missing int
	)
	if room > 0 {
		steps = append(steps, availability{host: h, more: room})
	}
	for _, e := range h.taskEnds(ends) {
		if room == a.Run.Count {
			break
		}
		a.addBack(&left, h, e.task)
		if e.at.Equal(neverEnds) {
			missing += len(e.task.GPUs())
		}
		if now := left.slots(d, a.Run.Count); now > room {
			steps = append(steps, availability{at: e.at, unboundedGPUs: missing, host: h, more: now - room})
			room = now
		}
	}
	return steps
}

// capacity holds the free resources of a host at some moment.
type capacity struct {
	cpu, memory int64
	gpus        int
	ports       map[int]bool // TCP ports in use
	udpPorts    map[int]bool
	groupTasks  int // tasks of the request's group (distinctInstance); -1: not constrained
}

func (a *evaluation) capacityOn(h *Host) capacity {
	m := capacity{h.Free.CPU, h.Free.MemoryMiB, len(h.Free.GPUs), h.Free.Ports, h.Free.UDPPorts, -1}
	if a.distinct {
		m.groupTasks = h.count(a.group)
	}
	return m
}

// addBack adds the resources that a task held. Unhealthy GPUs stay unavailable.
func (a *evaluation) addBack(m *capacity, h *Host, t *spec.Task) {
	m.cpu += t.CPU
	m.memory += t.MemoryMiB
	for _, uuid := range t.GPUs() {
		if device, there := h.Host.GPUs.Device(uuid); there && device.Health == gpu.Healthy {
			m.gpus++
		}
	}
	m.ports, m.udpPorts = withoutPorts(m.ports, t.Ports), withoutPorts(m.udpPorts, t.UDPPorts)
	if a.distinct && t.Group == a.group && t.DesiredStatus != spec.Stopped {
		m.groupTasks--
	}
}

func withoutPorts(taken map[int]bool, ports []int) map[int]bool {
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

// slots returns how many tasks of demand d fit, at most `most`.
func (m *capacity) slots(d spec.Demand, most int) int {
	room := int64(most)
	if d.CPU > 0 {
		room = min(room, m.cpu/d.CPU)
	}
	if d.MemoryMiB > 0 {
		room = min(room, m.memory/d.MemoryMiB)
	}
	if gpus := d.TotalGPUs(); gpus > 0 {
		room = min(room, int64(m.gpus/gpus))
	}
	if len(d.Ports)+len(d.UDPPorts) > 0 || m.groupTasks >= 0 {
		room = min(room, 1)
	}
	taken := func(ports map[int]bool) func(int) bool { return func(port int) bool { return ports[port] } }
	if slices.ContainsFunc(d.Ports, taken(m.ports)) || slices.ContainsFunc(d.UDPPorts, taken(m.udpPorts)) || m.groupTasks > 0 {
		return 0
	}
	return int(max(0, room))
}
