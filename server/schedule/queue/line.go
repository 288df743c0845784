package queue

import (
	"maps"
	"slices"
	"time"
)

// line is those that wait in a cluster.
type line struct {
	cluster string
	classes map[classKey]*class
	head    *Item            // the first of those without a place, for which one is reserved
	full    map[string]*Item // by shape: one that was refused although nothing was kept from it
}

func (q *Queue) line(cluster string) *line {
	l := q.lines[cluster]
	if l == nil {
		l = &line{cluster: cluster, classes: map[classKey]*class{}, full: map[string]*Item{}}
		q.lines[cluster] = l
	}
	return l
}

// Take says that an item has a place.
func (q *Queue) Take(item *Item, now time.Time) {
	q.Remove(item.ID())
	for _, id := range item.Tasks {
		q.Hold(id, item.Team, item.GPUs, time.Time{}, now)
	}
}

// Drop says that an item does not have the place that it was given.
func (q *Queue) Drop(item *Item, now time.Time) {
	for _, id := range item.Tasks {
		q.Release(id, now, now)
	}
}

// Idle says whether nothing is offered a place: Round would give none before Wake, or before shares have changed.
func (q *Queue) Idle() bool {
	for _, b := range q.order {
		if len(b.classes) > 0 {
			return false
		}
	}
	return true
}

// Wake offers again what a change in a cluster could help: help is asked for one item of each shape.
func (q *Queue) Wake(cluster string, help func(*Item) bool) {
	l := q.line(cluster)
	for shape, item := range l.full {
		if help(item) {
			delete(l.full, shape)
		}
	}
	for _, c := range l.classes {
		if c.blocked && l.full[c.shape] == nil && (!c.behind || help(c.first())) {
			q.offer(c)
		}
	}
}

// Renew is Wake after a change of the hosts themselves, which could help even who would never have had a place.
func (q *Queue) Renew(cluster string) {
	l := q.line(cluster)
	clear(l.full)
	for _, c := range l.classes {
		c.hopeless = false
		q.offer(c)
	}
}

func (q *Queue) offer(c *class) {
	c.blocked, c.behind = false, false
	q.sift(c)
}

// Refused lists the first items of those that there is no room for now, in their order, at most so many of each cluster. Of
// those that are alike only one is in it.
func (q *Queue) Refused(now time.Time, most int) []*Item {
	var all []*Item
	for _, cluster := range slices.Sorted(maps.Keys(q.lines)) {
		var items []*Item
		for _, c := range q.lines[cluster].classes {
			if c.blocked && !c.behind {
				items = append(items, c.first())
			}
		}
		slices.SortFunc(items, func(a, b *Item) int { return q.rankOf(a, now).compare(q.rankOf(b, now)) })
		all = append(all, items[:min(most, len(items))]...)
	}
	return all
}
