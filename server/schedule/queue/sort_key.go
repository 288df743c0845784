package queue

import (
	"cmp"
	"strings"
	"time"
)

// sortKey is the place of an item in the order of all.
type sortKey struct {
	borrows  bool // its team would have more than its quota with it
	priority int
	share    float64 // of its team
	age      time.Time
	id       string
}

// compare orders ranks, the first is next: who stays within a quota before who borrows, high priority, the team that had
// least for its weight, age.
func (r sortKey) compare(other sortKey) int {
	if r.borrows != other.borrows {
		if other.borrows {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(other.priority, r.priority), cmp.Compare(r.share, other.share), r.age.Compare(other.age), strings.Compare(r.id, other.id))
}

func (q *Queue) sortKeyOf(item *Item, now time.Time) sortKey {
	team := q.team(item.Team)
	return sortKey{team.borrows(item.totalGPUs()), item.Priority, team.share(now), item.Since, item.ID()}
}

// next is the class of the next item; nil when none is offered.
func (q *Queue) next(now time.Time) *fifo {
	var (
		best   *fifo
		leader sortKey
	)
	for _, b := range q.sortedBuckets {
		if len(b.fifos) == 0 {
			continue
		}
		r := q.sortKeyOf(b.fifos[0].oldest(), now)
		if best == nil || r.compare(leader) < 0 {
			best, leader = b.fifos[0], r
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

// A bucket is a heap of classes, by priority and then by the age of their first items.

func (b *bucket) Len() int { return len(b.fifos) }

func (b *bucket) Less(i, j int) bool {
	one, other := b.fifos[i], b.fifos[j]
	if one.priority != other.priority {
		return one.priority > other.priority
	}
	return older(one.oldest(), other.oldest())
}

func (b *bucket) Swap(i, j int) {
	b.fifos[i], b.fifos[j] = b.fifos[j], b.fifos[i]
	b.fifos[i].heapIndex, b.fifos[j].heapIndex = i, j
}

// Push is heap.Interface's.
func (b *bucket) Push(x any) {
	c := x.(*fifo)
	c.heapIndex = len(b.fifos)
	b.fifos = append(b.fifos, c)
}

// Pop is heap.Interface's.
func (b *bucket) Pop() any {
	last := len(b.fifos) - 1
	c := b.fifos[last]
	b.fifos, c.heapIndex = b.fifos[:last], -1
	return c
}
