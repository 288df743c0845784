package schedule

import (
	"pinion/raftfsm/spec"
)

// Refusals are what the hosts say to one task of the request that cannot be placed there now, by host id; willing counts the
// others.
func (f *Fleet) Refusals(r Request) (refusals []spec.Failure, willing int) {
	c, a := f.crew(r.Run.Cluster), newAsk(r)
	if a.read(c.hosts) != nil {
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

// Holders are the tasks that have to end for an opening of the request, in the order in which they do.
func (f *Fleet) Holders(r Request, o Opening, ends Ends) (holders []*spec.Task) {
	a := newAsk(r)
	if a.read(nil) != nil {
		return nil
	}
	for _, share := range o.Hosts {
		h := f.hosts[share.HostID]
		if h == nil {
			continue
		}
		d, left := a.on(h), a.amountsOn(h)
		for _, e := range h.endings(ends) {
			if left.room(d, share.Tasks) >= share.Tasks {
				break
			}
			a.release(&left, h, e.task)
			holders = append(holders, e.task)
		}
	}
	return holders
}
