package schedule

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Reservation is the earliest start of a request that does not fit now, and its hosts, assuming that no other task starts.
type Reservation struct {
	At    time.Time // shadow time; zero: unknown, because tasks without a time limit would have to end first
	Hosts []Allotment

	alternative int // the one of the request that it is for
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
var staticFilters = []filter{active, connected, daemonsFirst, isolated, attributes, memberOf}

// availability is a moment from which a host has more slots for tasks of a request.
type availability struct {
	at            time.Time
	unboundedGPUs int // when at is neverEnds: GPUs of the tasks that would have to stop
	host          *Host
	slots         int // that it gains
}

func (s availability) compare(other availability) int {
	return cmp.Or(s.at.Compare(other.at), cmp.Compare(s.unboundedGPUs, other.unboundedGPUs), cmp.Compare(s.host.at, other.host.at))
}

// FindReservation finds the earliest start of a request; ok is false when all its tasks would not fit on empty hosts either.
func (f *HostSet) FindReservation(r Request, ends EndTime) (best Reservation, ok bool) {
	for i, one := range alternativesOf(r) {
		o, fits := f.findReservation(one, ends)
		if o.alternative = i; fits && (!ok || o.before(&best)) {
			best, ok = o, true
		}
	}
	return best, ok
}

// before reports whether it starts earlier; a shadow time that is not known comes last.
func (o *Reservation) before(other *Reservation) bool {
	return !o.At.IsZero() && (other.At.IsZero() || o.At.Before(other.At))
}

// of is the alternative of the request that the reservation is for. One with fewer alternatives than it had is another request.
func (o *Reservation) of(r Request) (one Request, ok bool) {
	all := alternativesOf(r)
	if o.alternative >= len(all) {
		return r, false
	}
	return all[o.alternative], true
}

func (f *HostSet) findReservation(r Request, ends EndTime) (o Reservation, ok bool) {
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
		tasks := min(left, s.slots)
		left -= tasks
		o.add(s.host.Host.ID, tasks)
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
		steps     []availability
		slots     = left.slots(d, a.Run.Count)
		unbounded int
	)
	if slots > 0 {
		steps = append(steps, availability{host: h, slots: slots})
	}
	for _, e := range h.taskEnds(ends) {
		if slots == a.Run.Count {
			break
		}
		a.release(&left, h, e.task)
		if e.at.Equal(neverEnds) {
			unbounded += len(e.task.GPUs())
		}
		if now := left.slots(d, a.Run.Count); now > slots {
			steps = append(steps, availability{at: e.at, unboundedGPUs: unbounded, host: h, slots: now - slots})
			slots = now
		}
	}
	return steps
}

// capacity is a host's capacity for one request at some moment.
type capacity struct {
	spec.Capacity
	groupTasks int // tasks of the request's group (distinctInstance); -1: not constrained
}

func (a *evaluation) capacityOn(h *Host) capacity {
	free := a.gpuConstraints.restrict(h).Free
	c := capacity{free.Capacity(), -1}
	if a.distinct {
		c.groupTasks = h.count(a.group)
	}
	return c
}

// release adds what a task of the host holds.
func (a *evaluation) release(c *capacity, h *Host, t *spec.Task) {
	c.Capacity = c.Add(a.gpuConstraints.record(h), t)
	if a.distinct && t.Group == a.group && t.DesiredStatus != spec.Stopped {
		c.groupTasks--
	}
}

// slots returns how many tasks of the demand fit, at most limit.
func (c *capacity) slots(d *spec.Demand, limit int) int {
	switch {
	case c.groupTasks > 0:
		return 0
	case c.groupTasks == 0:
		limit = min(limit, 1)
	}
	return c.Slots(d, limit)
}
