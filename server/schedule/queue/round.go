package queue

import "time"

// Placer places items on hosts and makes reservations.
type Placer interface {
	// Place places every task of the item, or none of them. With backfill it must not use reserved capacity of the item's
	// cluster.
	Place(item *Item, backfill bool) (placed bool)
	// Reserve replaces the reservation of the item's cluster by the capacity with which the item starts as early as possible.
	// It is called at most once in a round for the same head, and only when a later item needs it. at is the shadow time,
	// zero when unknown; ok is false, and nothing is reserved, when the item is infeasible.
	Reserve(item *Item) (at time.Time, ok bool)
}

// Round places the next items in queue order until they have `most` tasks, and returns them. A refused item is blocked until
// RetryRefused reports a change that could help it. Returned items count as placed until UndoPlacement.
//
// The first refused item of a cluster is its head and has a reservation. A later item is placed by backfill: only where it
// cannot delay the head, because it ends before the shadow time or uses no reserved capacity.
func (q *Queue) Round(now time.Time, most int, placer Placer) []*Item {
	r := &round{queue: q, now: now, placer: placer, reserved: map[string]reservation{}, delayed: map[*clusterQueue]bool{}}
	r.chooseHeads()
	var placed []*Item
	for most > 0 {
		f := q.next(now)
		if f == nil && r.retryDelayed() {
			continue
		}
		if f == nil {
			break
		}
		item := f.oldest()
		if !r.try(f, item) {
			f.blocked = true
			q.fixHeap(f)
			continue
		}
		q.MarkPlaced(item, now)
		r.headLeft(f.clusterQueue, item)
		placed = append(placed, item)
		most -= len(item.Tasks)
	}
	return placed
}

// round is one call of Round.
type round struct {
	queue    *Queue
	now      time.Time
	placer   Placer
	reserved map[string]reservation // by cluster; made when first needed
	delayed  map[*clusterQueue]bool // clusters whose head may have been delayed by an item before it
}

// reservation is the result of Placer.Reserve.
type reservation struct {
	at time.Time // shadow time; zero: not known
	ok bool
}

// try places the first item of a fifo, or records its refusal.
func (r *round) try(f *fifo, item *Item) (placed bool) {
	c, backfill := f.clusterQueue, false
	if c.refused[f.class] == nil {
		backfill = r.mustBackfill(c, item)
		if r.placer.Place(item, backfill) {
			if r.isBeforeHead(c, item) {
				delete(r.reserved, c.name)
				r.delayed[c] = true
			}
			return true
		}
	}
	if f.backfillBlocked = backfill; !backfill {
		c.refused[f.class] = item
		r.offerHead(c, item)
	}
	return false
}

// mustBackfill reports whether the item must not use reserved capacity: it comes after the head and may end after the shadow
// time. An infeasible head is replaced by the next one.
func (r *round) mustBackfill(c *clusterQueue, item *Item) bool {
	for c.head != nil && c.head != item && !r.isBeforeHead(c, item) {
		shadow := r.reserve(c)
		if shadow.ok {
			return item.Limit == 0 || !shadow.at.IsZero() && r.now.Add(item.Limit).After(shadow.at)
		}
		r.queue.queued[c.head.ID()].fifo.infeasible = true
		r.setHead(c, r.firstBlocked(c))
	}
	return false
}

// isBeforeHead reports whether the item comes before the head in queue order.
func (r *round) isBeforeHead(c *clusterQueue, item *Item) bool {
	return c.head != nil && c.head != item && r.queue.sortKeyOf(item, r.now).compare(r.queue.sortKeyOf(c.head, r.now)) < 0
}

// reserve returns the reservation of the head, making it once.
func (r *round) reserve(c *clusterQueue) reservation {
	known, made := r.reserved[c.name]
	if !made {
		known.at, known.ok = r.placer.Reserve(c.head)
		r.reserved[c.name] = known
	}
	return known
}

// headLeft chooses the next head when the placed item was the head.
func (r *round) headLeft(c *clusterQueue, placed *Item) {
	if c.head == placed {
		c.head = nil
		r.setHead(c, r.firstBlocked(c))
	}
}

// retryDelayed unblocks backfill in clusters whose head was delayed by an item before it: the shadow time may be later now.
func (r *round) retryDelayed() (any bool) {
	for _, c := range r.queue.clusters {
		if r.delayed[c] {
			delete(r.delayed, c)
			r.setHead(c, c.head)
			any = true
		}
	}
	return any
}

// offerHead makes a refused item the head when it comes before the present one.
func (r *round) offerHead(c *clusterQueue, item *Item) {
	if c.head == nil || r.isBeforeHead(c, item) {
		r.setHead(c, item)
	}
}

// setHead changes the head and drops the reservation: items that only the reservation blocked are unblocked.
func (r *round) setHead(c *clusterQueue, head *Item) {
	c.head = head
	delete(r.reserved, c.name)
	for _, f := range c.fifos {
		if f.backfillBlocked {
			r.queue.unblock(f)
		}
	}
}

// chooseHeads chooses the head of each cluster anew: since the last round shares have changed and heads were placed.
func (r *round) chooseHeads() {
	for _, c := range r.queue.clusters {
		if head := r.firstBlocked(c); head != c.head {
			r.setHead(c, head)
		}
	}
}

// firstBlocked returns the first refused item of a cluster that is not infeasible; nil when there is none.
func (r *round) firstBlocked(c *clusterQueue) *Item {
	var (
		head *Item
		best sortKey
	)
	for _, f := range c.fifos {
		item := f.oldest()
		if f.infeasible || !f.blocked && item != c.head {
			continue
		}
		if key := r.queue.sortKeyOf(item, r.now); head == nil || key.compare(best) < 0 {
			head, best = item, key
		}
	}
	return head
}
