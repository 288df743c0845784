package schedule

import (
	"pinion/raftfsm/spec"
)

// Refusals are what the hosts say to one task of the request that cannot be placed there now, by host id; willing counts the
// others.
func (f *HostSet) Refusals(r Request) (refusals []spec.Failure, willing int) {
	c, a := f.cluster(r.Run.Cluster), newEvaluation(r)
	if a.parse(c.hosts) != nil {
		return nil, 0
	}
	for _, h := range c.hosts {
		if refusal, refused := a.refusal(h, runFilters); refused {
			refusals = append(refusals, refusal)
		} else {
			willing++
		}
	}
	return refusals, willing
}

// Blockers are the tasks that have to end for an opening of the request, in the order in which they do.
func (f *HostSet) Blockers(r Request, o Reservation, ends EndTime) (holders []*spec.Task) {
	a := newEvaluation(r)
	if a.parse(nil) != nil {
		return nil
	}
	for _, share := range o.Hosts {
		h := f.hosts[share.HostID]
		if h == nil {
			continue
		}
		d, left := a.demandOn(h), a.capacityOn(h)
		for _, e := range h.taskEnds(ends) {
			if left.slots(d, share.Tasks) >= share.Tasks {
				break
			}
			a.addBack(&left, h, e.task)
			holders = append(holders, e.task)
		}
	}
	return holders
}
