package queue

import (
	"cmp"
	"strings"
	"time"
)

// sortKey is the position of an item in the order of all items. Keys of two items always differ, by the id at least.
type sortKey struct {
	last      bool // the item is not First
	borrows   bool // the item would take its team beyond its quota
	priority  int
	fairShare float64 // of its team
	age       time.Time
	id        string
}

// compare orders keys, the first is next: items that are First, then items within the quota of their team before items that borrow, then high
// priority, then the team with the least fair share, then age.
func (k sortKey) compare(other sortKey) int {
	return cmp.Or(before(!k.last, !other.last), before(!k.borrows, !other.borrows), cmp.Compare(other.priority, k.priority), cmp.Compare(k.fairShare, other.fairShare), k.age.Compare(other.age), strings.Compare(k.id, other.id))
}

// before compares by a flag: what has it comes first.
func before(one, other bool) int {
	switch {
	case one == other:
		return 0
	case one:
		return -1
	}
	return 1
}

func (q *Queue) sortKeyOf(item *Item, now time.Time) sortKey {
	team := q.Teams.lookup(item.Team)
	return sortKey{!item.First, team.borrows(item.totalGPUs()), item.Priority, team.fairShare(now), item.Since, item.ID()}
}

// next returns the fifo whose first item comes next in queue order; nil when every fifo is blocked.
func (q *Queue) next(now time.Time) *fifo {
	var (
		best *fifo
		key  sortKey
	)
	for _, b := range q.offered {
		k := q.sortKeyOf(b.fifos[0].oldest(), now)
		if best == nil || k.compare(key) < 0 {
			best, key = b.fifos[0], k
		}
	}
	return best
}

func older(a, b *Item) bool {
	if c := a.Since.Compare(b.Since); c != 0 {
		return c < 0
	}
	return a.ID() < b.ID()
}

// A bucket is a heap of fifos: those that are first, by priority, and then by the age of their first items.

func (b *bucket) Len() int { return len(b.fifos) }

func (b *bucket) Less(i, j int) bool {
	one, other := b.fifos[i], b.fifos[j]
	if c := cmp.Or(before(one.first, other.first), cmp.Compare(other.priority, one.priority)); c != 0 {
		return c < 0
	}
	return older(one.oldest(), other.oldest())
}

func (b *bucket) Swap(i, j int) {
	b.fifos[i], b.fifos[j] = b.fifos[j], b.fifos[i]
	b.fifos[i].heapIndex, b.fifos[j].heapIndex = i, j
}

// Push implements heap.Interface.
func (b *bucket) Push(x any) {
	f := x.(*fifo)
	f.heapIndex = len(b.fifos)
	b.fifos = append(b.fifos, f)
}

// Pop implements heap.Interface.
func (b *bucket) Pop() any {
	last := len(b.fifos) - 1
	f := b.fifos[last]
	b.fifos[last] = nil
	b.fifos, f.heapIndex = b.fifos[:last], -1
	return f
}
