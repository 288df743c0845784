package queue

import (
	"slices"
	"time"
)

// List is everything that waits in a cluster, in its order as it is at the moment: each start changes the shares, and with
// them who comes after.
func (q *Queue) List(cluster string, now time.Time) []*Item {
	type ranked struct {
		*Item
		sortKey
	}
	var all []ranked
	for _, c := range q.cluster(cluster).fifos {
		c.items.Scan(func(item *Item) bool {
			all = append(all, ranked{item, q.sortKeyOf(item, now)})
			return true
		})
	}
	slices.SortFunc(all, func(a, b ranked) int { return a.compare(b.sortKey) })
	items := make([]*Item, len(all))
	for i, r := range all {
		items[i] = r.Item
	}
	return items
}

// Position is where an item is in its cluster, from 1, and of how many; 0 when it does not wait.
func (q *Queue) Position(task string, now time.Time) (place, of int) {
	e := q.entries[task]
	if e == nil {
		return 0, 0
	}
	mine := q.sortKeyOf(e.Item, now)
	place = 1
	for _, c := range q.cluster(e.Cluster).fifos {
		of += c.items.Len()
		c.items.Scan(func(other *Item) bool { // in their order
			before := q.sortKeyOf(other, now).compare(mine) < 0
			if before {
				place++
			}
			return before
		})
	}
	return place, of
}

// Item is the one that a task belongs to; nil when it does not wait.
func (q *Queue) Item(task string) *Item {
	if e := q.entries[task]; e != nil {
		return e.Item
	}
	return nil
}

// Head is the first without a place in a cluster, for which one is reserved; nil when there is none.
func (q *Queue) Head(cluster string) *Item { return q.cluster(cluster).head }

// Usage is what a team has of GPUs, and its quota; negative: none.
func (q *Queue) Usage(team string) (held, quota int) {
	t := q.team(team)
	return t.held, t.quota
}
