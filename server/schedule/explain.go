package schedule

import (
	"pinion/raftfsm/spec"
)

// Refusals lists, in host id order, why each host cannot run one task of the request now. willing counts the hosts that can.
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

// Blockers lists the tasks that have to end before a reservation of the request can start, in the order of their ends.
func (f *HostSet) Blockers(r Request, o Reservation, ends EndTime) (holders []*spec.Task) {
	a := newEvaluation(r)
	if a.parse(nil) != nil {
		return nil
	}
	for _, allotment := range o.Hosts {
		h := f.hosts[allotment.HostID]
		if h == nil {
			continue
		}
		d, left := a.demandOn(h), a.capacityOn(h)
		for _, e := range h.taskEnds(ends) {
			if left.slots(d, allotment.Tasks) >= allotment.Tasks {
				break
			}
			a.release(&left, h, e.task)
			holders = append(holders, e.task)
		}
	}
	return holders
}
