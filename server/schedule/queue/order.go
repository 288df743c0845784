package queue

import (
	"cmp"
	"strings"
	"time"
)

// rank is the place of an item in the order of all.
type rank struct {
	borrows  bool // its team would have more than its quota with it
	priority int
	share    float64 // of its team
	since    time.Time
	id       string
}

// compare orders ranks, the first is next: who stays within a quota before who borrows, high priority, the team that had
// least for its weight, age.
func (r rank) compare(other rank) int {
	if r.borrows != other.borrows {
		if other.borrows {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(other.priority, r.priority), cmp.Compare(r.share, other.share), r.since.Compare(other.since), strings.Compare(r.id, other.id))
}

func (q *Queue) rankOf(item *Item, now time.Time) rank {
	team := q.team(item.Team)
	return rank{team.borrows(item.asks()), item.Priority, team.share(now), item.Since, item.ID()}
}

// first is the class of the next item; nil when none is offered.
func (q *Queue) first(now time.Time) *class {
	var (
		best   *class
		leader rank
	)
	for _, b := range q.order {
		if len(b.classes) == 0 {
			continue
		}
		r := q.rankOf(b.classes[0].first(), now)
		if best == nil || r.compare(leader) < 0 {
			best, leader = b.classes[0], r
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

func (b *bucket) Len() int { return len(b.classes) }

func (b *bucket) Less(i, j int) bool {
	one, other := b.classes[i], b.classes[j]
	if one.priority != other.priority {
		return one.priority > other.priority
	}
	return older(one.first(), other.first())
}

func (b *bucket) Swap(i, j int) {
	b.classes[i], b.classes[j] = b.classes[j], b.classes[i]
	b.classes[i].at, b.classes[j].at = i, j
}

// Push is heap.Interface's.
func (b *bucket) Push(x any) {
	c := x.(*class)
	c.at = len(b.classes)
	b.classes = append(b.classes, c)
}

// Pop is heap.Interface's.
func (b *bucket) Pop() any {
	last := len(b.classes) - 1
	c := b.classes[last]
	b.classes, c.at = b.classes[:last], -1
	return c
}
