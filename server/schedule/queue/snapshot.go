package queue

import (
	"slices"
	"time"

	"github.com/tidwall/btree"
)

// Snapshot holds the pending items of one cluster in their order at one moment; each start changes the fair shares, and so the
// order. It is immutable and safe for concurrent use. Taking it costs one step per fifo, not per item: the reader sorts.
type Snapshot struct {
	head  *Item
	fifos []fifoSnapshot
}

type fifoSnapshot struct {
	key   sortKey // the same for every item except for age and id
	items *btree.BTreeG[*Item]
}

func (f *fifoSnapshot) keyOf(item *Item) sortKey {
	key := f.key
	key.age, key.id = item.Since, item.ID()
	return key
}

// Snapshot takes the pending items of a cluster.
func (q *Queue) Snapshot(cluster string, now time.Time) *Snapshot {
	c := q.lookup(cluster)
	s := &Snapshot{head: c.head, fifos: make([]fifoSnapshot, 0, len(c.fifos))}
	for _, f := range c.fifos {
		s.fifos = append(s.fifos, fifoSnapshot{q.sortKeyOf(f.oldest(), now), f.items.Copy()})
	}
	return s
}

// Head returns the item that has the cluster's reservation; nil when there is none.
func (s *Snapshot) Head() *Item { return s.head }

// List returns all items in queue order.
func (s *Snapshot) List() []*Item {
	type keyed struct {
		*Item
		sortKey
	}
	var all []keyed
	for i := range s.fifos {
		f := &s.fifos[i]
		f.items.Scan(func(item *Item) bool {
			all = append(all, keyed{item, f.keyOf(item)})
			return true
		})
	}
	slices.SortFunc(all, func(a, b keyed) int { return a.compare(b.sortKey) })
	items := make([]*Item, len(all))
	for i := range all {
		items[i] = all[i].Item
	}
	return items
}

// Position returns the position of an item in queue order, from 1, and the number of items; both are 0 for nil and for an
// item outside the snapshot.
func (s *Snapshot) Position(item *Item) (position, of int) {
	if item == nil {
		return 0, 0
	}
	var mine sortKey
	found := false
	for i := range s.fifos {
		f := &s.fifos[i]
		of += f.items.Len()
		if known, is := f.items.Get(item); is && known == item {
			mine, found = f.keyOf(item), true
		}
	}
	if !found {
		return 0, 0
	}
	position = 1
	for i := range s.fifos {
		f := &s.fifos[i]
		f.items.Scan(func(other *Item) bool { // in queue order
			before := f.keyOf(other).compare(mine) < 0
			if before {
				position++
			}
			return before
		})
	}
	return position, of
}
