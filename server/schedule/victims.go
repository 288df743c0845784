package schedule

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Price is what it costs to stop a task: who borrows GPUs goes first, then low priority, then who has run for least time.
type Price struct {
	Owned    bool // its team has a right to the GPUs
	Priority int
	Since    time.Time
}

func (p Price) compare(other Price) int {
	if p.Owned != other.Owned {
		if other.Owned {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(p.Priority, other.Priority), other.Since.Compare(p.Since))
}

// ransom is what one task more of a request costs on a host.
type ransom struct {
	host    *Host
	left    amounts // of the host, without the victims of tasks before
	gone    map[string]bool
	victims []victim // cheapest first; nil: no number of them would do
}

type victim struct {
	task  *spec.Task
	price Price
}

// compare orders by the dearest victim, then by how many there are.
func (r *ransom) compare(other *ransom) int {
	return cmp.Or(r.victims[len(r.victims)-1].price.compare(other.victims[len(other.victims)-1].price),
		cmp.Compare(len(r.victims), len(other.victims)), cmp.Compare(r.host.at, other.host.at))
}

// Victims are the tasks to stop so that all tasks of the request have places: the cheapest of those that may be stopped. Nil
// when that cannot be had.
func (f *Fleet) Victims(r Request, price func(*spec.Task) (p Price, may bool)) []*spec.Task {
	c, a := f.crew(r.Run.Cluster), newAsk(r)
	if a.read(c.hosts) != nil {
		return nil
	}
	missing := r.Run.Count
	var offers []*ransom
	for _, h := range c.hosts {
		if _, refused := a.refusal(h, openFilters); refused {
			continue
		}
		offer := &ransom{host: h, left: a.amountsOn(h), gone: map[string]bool{}}
		for _, task := range h.tasks {
			if task.DesiredStatus == spec.Stopped { // it makes room by itself
				a.release(&offer.left, h, task)
				offer.gone[task.ID] = true
			}
		}
		missing -= offer.left.room(a.on(h), r.Run.Count)
		if a.demandMore(offer, price); offer.victims != nil {
			offers = append(offers, offer)
		}
	}
	var all []*spec.Task
	for ; missing > 0; missing-- {
		if len(offers) == 0 {
			return nil
		}
		best := slices.MinFunc(offers, (*ransom).compare)
		for _, v := range best.victims {
			all = append(all, v.task)
			best.gone[v.task.ID] = true
			a.release(&best.left, best.host, v.task)
		}
		if a.demandMore(best, price); best.victims == nil {
			offers = slices.DeleteFunc(offers, func(o *ransom) bool { return o == best })
		}
	}
	return all
}

// demandMore finds the victims for one task more: the cheapest until there is room, without those that turn out not to be
// needed.
func (a *ask) demandMore(r *ransom, price func(*spec.Task) (Price, bool)) {
	d := a.on(r.host)
	var may []victim
	for _, task := range r.host.tasks {
		if p, allowed := price(task); allowed && !r.gone[task.ID] {
			may = append(may, victim{task, p})
		}
	}
	slices.SortStableFunc(may, func(a, b victim) int { return a.price.compare(b.price) })
	wanted := r.left.room(d, a.Run.Count) + 1
	enough := func(victims []victim) bool {
		left := r.left
		for _, v := range victims {
			a.release(&left, r.host, v.task)
		}
		return left.room(d, wanted) >= wanted
	}
	r.victims = nil
	for n := 1; n <= len(may); n++ {
		if !enough(may[:n]) {
			continue
		}
		r.victims = slices.Clone(may[:n])
		for i := n - 2; i >= 0; i-- { // the dearest of the others first
			if rest := slices.Delete(slices.Clone(r.victims), i, i+1); enough(rest) {
				r.victims = rest
			}
		}
		return
	}
}
