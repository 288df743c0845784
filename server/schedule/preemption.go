package schedule

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// EvictionCost orders the tasks that may be preempted: tasks on borrowed GPUs are cheapest, then low priority, then the
// shortest run time.
type EvictionCost struct {
	Owned    bool // the GPUs are within the quota of its team
	Priority int
	Since    time.Time
}

func (p EvictionCost) compare(other EvictionCost) int {
	if p.Owned != other.Owned {
		if other.Owned {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.Priority, other.Priority), other.Since.Compare(p.Since))
}

// eviction holds the victims that would make room for one more task of a request on a host.
type eviction struct {
	host     *Host
	capacity capacity // of the host, with the victims chosen so far already gone
	gone     map[string]bool
	victims  []victim // cheapest first; nil: no set of victims makes room
}

type victim struct {
	task *spec.Task
	cost EvictionCost
}

// compare orders plans by their most expensive victim, then by the number of victims.
func (r *eviction) compare(other *eviction) int {
	return cmp.Or(r.victims[len(r.victims)-1].cost.compare(other.victims[len(other.victims)-1].cost),
		cmp.Compare(len(r.victims), len(other.victims)), cmp.Compare(r.host.at, other.host.at))
}

// Victims returns the cheapest tasks to stop so that all tasks of the request can be placed, by whichever of its alternatives. price returns a task's
// cost and whether it may be stopped. Victims returns nil when no set of them makes room, or when those that stop already do.
func (f *HostSet) Victims(r Request, price func(*spec.Task) (p EvictionCost, may bool)) (cheapest []*spec.Task) {
	highest := func(victims []*spec.Task) (most EvictionCost) {
		for i, task := range victims {
			if p, _ := price(task); i == 0 || p.compare(most) > 0 {
				most = p
			}
		}
		return most
	}
	for _, one := range alternativesOf(r) {
		switch victims, enough := f.victims(one, price); {
		case !enough:
		case len(victims) == 0:
			return nil
		case cheapest == nil || cmp.Or(highest(victims).compare(highest(cheapest)), cmp.Compare(len(victims), len(cheapest))) < 0:
			cheapest = victims
		}
	}
	return cheapest
}

// victims is Victims for one alternative; enough is false when no set of tasks makes room.
func (f *HostSet) victims(r Request, price func(*spec.Task) (p EvictionCost, may bool)) (all []*spec.Task, enough bool) {
	c, a := f.cluster(r.Run.Cluster), newEvaluation(r)
	if a.parse(c.hosts) != nil {
		return nil, false
	}
	missing := r.Run.Count
	var offers []*eviction
	for _, h := range c.hosts {
		if _, refused := a.refusal(h, staticFilters); refused {
			continue
		}
		offer := &eviction{host: h, capacity: a.capacityOn(h), gone: map[string]bool{}}
		for _, task := range h.tasks {
			if task.DesiredStatus == spec.Stopped { // already stopping: it releases its resources anyway
				a.release(&offer.capacity, h, task)
				offer.gone[task.ID] = true
			}
		}
		missing -= offer.capacity.slots(a.demandOn(h), r.Run.Count)
		if a.chooseVictims(offer, price); offer.victims != nil {
			offers = append(offers, offer)
		}
	}
	for ; missing > 0; missing-- {
		if len(offers) == 0 {
			return nil, false
		}
		best := slices.MinFunc(offers, (*eviction).compare)
		for _, v := range best.victims {
			all = append(all, v.task)
			best.gone[v.task.ID] = true
			a.release(&best.capacity, best.host, v.task)
		}
		if a.chooseVictims(best, price); best.victims == nil {
			offers = slices.DeleteFunc(offers, func(o *eviction) bool { return o == best })
		}
	}
	return all, true
}

// chooseVictims finds the victims for one more task: it adds the cheapest until the task fits, then drops those that are not
// needed, the most expensive first.
func (a *evaluation) chooseVictims(r *eviction, price func(*spec.Task) (EvictionCost, bool)) {
	d := a.demandOn(r.host)
	var may []victim
	for _, task := range r.host.tasks {
		if p, allowed := price(task); allowed && !r.gone[task.ID] {
			may = append(may, victim{task, p})
		}
	}
	slices.SortStableFunc(may, func(a, b victim) int { return a.cost.compare(b.cost) })
	wanted := r.capacity.slots(d, a.Run.Count) + 1
	enough := func(victims []victim) bool {
		left := r.capacity
		for _, v := range victims {
			a.release(&left, r.host, v.task)
		}
		return left.slots(d, wanted) >= wanted
	}
	r.victims = nil
	for n := 1; n <= len(may); n++ {
		if !enough(may[:n]) {
			continue
		}
		r.victims = slices.Clone(may[:n])
		for i := n - 2; i >= 0; i-- { // the most expensive of the others first
			if rest := slices.Delete(slices.Clone(r.victims), i, i+1); enough(rest) {
				r.victims = rest
			}
		}
		return
	}
}
