package schedule

import (
	"pinion/raftfsm/spec"
)

// Refusals lists, in host id order, why each host cannot run one task of the request now: any of its alternatives. willing counts the hosts
// that can.
func (f *HostSet) Refusals(r Request) (refusals []spec.Failure, willing int) {
	c := f.cluster(r.Run.Cluster)
	var all []*evaluation
	for _, one := range alternativesOf(r) {
		a := newEvaluation(one)
		if a.parse(c.hosts) != nil {
			return nil, 0
		}
		all = append(all, a)
	}
	for _, h := range c.hosts {
		if refusal, refused := refusalOfAll(all, h); refused {
			refusals = append(refusals, refusal)
		} else {
			willing++
		}
	}
	return refusals, willing
}

// refusalOfAll is why the host refuses every alternative.
func refusalOfAll(all []*evaluation, h *Host) (spec.Failure, bool) {
	refusals := make([]spec.Failure, len(all))
	for i, a := range all {
		refused := false
		if refusals[i], refused = a.refusal(h, runFilters); !refused {
			return spec.Failure{}, false
		}
	}
	return mergeRefusals(all[0].Request, refusals), true
}

// maxReleases is how many ends of tasks are tried to find the blockers of a task: some ten milliseconds.
const maxReleases = 20_000

// Blockers lists the tasks that have to end before a reservation of the request can start, in the order of their ends: none of them
// that holds nothing of what is missing, unless finding that out would take more than maxReleases.
func (f *HostSet) Blockers(r Request, o Reservation, ends EndTime) (holders []*spec.Task) {
	r, ok := o.of(r)
	a := newEvaluation(r)
	if !ok || a.parse(nil) != nil {
		return nil
	}
	budget := maxReleases
	for _, allotment := range o.Hosts {
		h := f.hosts[allotment.HostID]
		if h == nil {
			continue
		}
		d, left := a.demandOn(h), a.capacityOn(h)
		var ending []*spec.Task
		for _, e := range h.taskEnds(ends) {
			if left.slots(d, allotment.Tasks) >= allotment.Tasks {
				break
			}
			a.release(&left, h, e.task)
			ending = append(ending, e.task)
		}
		holders = append(holders, needed(a, h, ending, d, allotment.Tasks, &budget)...)
	}
	return holders
}

// needed are those of the tasks of a host without whose end so many tasks of the demand would not fit, although the others end. It tries no more ends
// than the budget has: the tasks that it does not get to stay.
func needed(a *evaluation, h *Host, ending []*spec.Task, d *spec.Demand, tasks int, budget *int) []*spec.Task {
	for at := 0; at < len(ending) && *budget >= len(ending); {
		*budget -= len(ending)
		left := a.capacityOn(h)
		for i, task := range ending {
			if i != at {
				a.release(&left, h, task)
			}
		}
		if left.slots(d, tasks) < tasks {
			at++
			continue
		}
		ending = append(ending[:at:at], ending[at+1:]...)
	}
	return ending
}
