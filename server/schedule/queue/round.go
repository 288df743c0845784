package queue

import "time"

// Placer gives items their places.
type Placer interface {
	// Place gives every task of the item a place, or none of them. With backfill it leaves the reservation of the item's
	// cluster alone.
	Place(item *Item, backfill bool) (placed bool)
	// Reserve makes the reservation of the item's cluster: what the item needs to start as early as possible. It replaces
	// the one before. It is called once in each round in which the reservation matters. at is the shadow time, zero when it
	// is not known; ok is false when the item can never have a place, and then nothing is reserved.
	Reserve(item *Item) (at time.Time, ok bool)
}

// Round places the next items, of at most so many tasks, and returns them in their order. An item without a place is blocked
// until RetryRefused says that a change could help it. The items count as placed until Unplace.
//
// The first item of a cluster without a place is its head and has a reservation. A later item is placed as backfill:
// only where it does not delay the head, because it ends before the shadow time or leaves the reservation alone.
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
	reserved map[string]reservation // by cluster; made when it matters first
	delayed  map[*clusterQueue]bool // clusters whose head may have been delayed by an item before it
}

// reservation is what Placer.Reserve has answered.
type reservation struct {
	at time.Time // shadow time; zero: not known
	ok bool
}

// try places the first item of a fifo.
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

// mustBackfill reports whether the item must leave the reservation alone: it comes after the head and may end after the
// shadow time. An infeasible head gives way to the next one.
func (r *round) mustBackfill(c *clusterQueue, item *Item) bool {
	for c.head != nil && c.head != item && !r.isBeforeHead(c, item) {
		shadow := r.reserve(c)
		if shadow.ok {
			return item.Limit == 0 || !shadow.at.IsZero() && r.now.Add(item.Limit).After(shadow.at)
		}
		r.queue.entries[c.head.ID()].fifo.infeasible = true
		r.setHead(c, r.firstBlocked(c))
	}
	return false
}

// isBeforeHead reports whether the item comes before the head in queue order.
func (r *round) isBeforeHead(c *clusterQueue, item *Item) bool {
	return c.head != nil && c.head != item && r.queue.sortKeyOf(item, r.now).compare(r.queue.sortKeyOf(c.head, r.now)) < 0
}

// reserve is the reservation of the head.
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

// setHead changes the head, which ends the reservation: items that were blocked by it are unblocked.
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

// firstBlocked is the first item of a cluster that was refused and is feasible; nil: there is none.
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
