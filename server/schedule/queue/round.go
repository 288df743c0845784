package queue

import "time"

// Placer is where items are given their places.
type Placer interface {
	// Place gives every task of the item a place, or none of them and says no. With keep it leaves alone what is reserved
	// in the item's cluster.
	Place(item *Item, keep bool) (placed bool)
	// Reserve reserves what the item needs to start as early as it can, instead of what was reserved in its cluster before.
	// It is asked again in each round in which it matters. at is when that is, zero when nobody knows; ok is false when
	// there will never be a place, and nothing is reserved then.
	Reserve(item *Item) (at time.Time, ok bool)
}

// Round gives places to what is next, at most so many tasks, and returns the items in their order. What has no place is not
// offered again before Wake says that something could help it. The items count as placed until Drop.
//
// The first of those without a place is the head of its cluster. Its place is reserved, and what comes after it may start
// only where that does not delay it: it is over when the head can start at the earliest, or it leaves the head's place alone.
func (q *Queue) Round(now time.Time, most int, places Placer) []*Item {
	r := &round{Queue: q, now: now, placer: places, reserved: map[string]reservation{}, delayed: map[*clusterQueue]bool{}}
	r.chooseHeads()
	var placed []*Item
	for most > 0 {
		c := q.next(now)
		if c == nil && r.retryDelayed() {
			continue
		}
		if c == nil {
			break
		}
		item := c.oldest()
		if !r.try(c, item) {
			c.blocked = true
			q.fixHeap(c)
			continue
		}
		q.MarkPlaced(item, now)
		r.headLeft(item)
		placed = append(placed, item)
		most -= len(item.Tasks)
	}
	return placed
}

// round is one call of Round.
type round struct {
	*Queue
	now      time.Time
	placer   Placer
	reserved map[string]reservation // by cluster, as far as it was asked for
	delayed  map[*clusterQueue]bool // whose heads may have to wait longer than before
}

// reservation is when the place of a head will be there.
type reservation struct {
	at time.Time // zero: nobody knows
	ok bool
}

// try finds a place for the first item of a class.
func (r *round) try(c *fifo, item *Item) (placed bool) {
	l := r.cluster(c.cluster)
	keep := false
	if l.refused[c.class] == nil {
		keep = r.mustRespectReservation(l, item)
		if r.placer.Place(item, keep) {
			if r.isBeforeHead(l, item) {
				delete(r.reserved, l.cluster) // the head may have to wait longer now
				r.delayed[l] = true
			}
			return true
		}
	}
	if c.backfillBlocked = keep; !keep {
		l.refused[c.class] = item
		r.offerHead(l, item)
	}
	return false
}

// mustRespectReservation reports whether the item has to leave alone what is reserved for the head, because it comes later and is not over
// in time. A head that will never have a place makes way for the next one.
func (r *round) mustRespectReservation(l *clusterQueue, item *Item) bool {
	for l.head != nil && l.head != item && !r.isBeforeHead(l, item) {
		head := r.reserve(l)
		if head.ok {
			return item.Limit == 0 || !head.at.IsZero() && r.now.Add(item.Limit).After(head.at)
		}
		r.entries[l.head.ID()].fifo.infeasible = true
		r.setHead(l, r.firstBlocked(l.cluster))
	}
	return false
}

// isBeforeHead reports whether the head comes after the item.
func (r *round) isBeforeHead(l *clusterQueue, item *Item) bool {
	return l.head != nil && l.head != item && r.sortKeyOf(item, r.now).compare(r.sortKeyOf(l.head, r.now)) < 0
}

// reserve is the reservation for the head, which is made when it matters first.
func (r *round) reserve(l *clusterQueue) reservation {
	known, asked := r.reserved[l.cluster]
	if !asked {
		known.at, known.ok = r.placer.Reserve(l.head)
		r.reserved[l.cluster] = known
	}
	return known
}

// headLeft finds the next head when the one of its cluster does not wait any more.
func (r *round) headLeft(item *Item) {
	if l := r.cluster(item.Cluster); l.head == item {
		l.head = nil
		r.setHead(l, r.firstBlocked(l.cluster))
	}
}

// retryDelayed offers again what could use it that heads were delayed by what came before them.
func (r *round) retryDelayed() (any bool) {
	for _, l := range r.clusters {
		if r.delayed[l] {
			delete(r.delayed, l)
			r.setHead(l, l.head)
			any = true
		}
	}
	return any
}

// offerHead makes a refused item the head, if it comes before the one there is.
func (r *round) offerHead(l *clusterQueue, item *Item) {
	if l.head == nil || r.isBeforeHead(l, item) {
		r.setHead(l, item)
	}
}

// setHead changes the head. Who was refused because of the reservation for the one before is offered again.
func (r *round) setHead(l *clusterQueue, head *Item) {
	l.head = head
	delete(r.reserved, l.cluster)
	for _, c := range l.fifos {
		if c.backfillBlocked {
			r.unblock(c)
		}
	}
}

// chooseHeads makes the first of those that wait without a place the head of each cluster: shares have changed since the
// last round, and heads got their places.
func (r *round) chooseHeads() {
	for _, l := range r.clusters {
		if head := r.firstBlocked(l.cluster); head != l.head {
			r.setHead(l, head)
		}
	}
}

// firstBlocked is the first item that was refused a place of its own; nil when there is none.
func (r *round) firstBlocked(cluster string) *Item {
	var (
		l    = r.cluster(cluster)
		head *Item
		best sortKey
	)
	for _, c := range l.fifos {
		item := c.oldest()
		if c.infeasible || !c.blocked && item != l.head {
			continue
		}
		if ranked := r.sortKeyOf(item, r.now); head == nil || ranked.compare(best) < 0 {
			head, best = item, ranked
		}
	}
	return head
}
