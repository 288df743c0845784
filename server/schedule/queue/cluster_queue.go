package queue

import (
	"maps"
	"slices"
	"time"
)

// clusterQueue is those that wait in a cluster.
type clusterQueue struct {
	cluster string
	fifos   map[fifoKey]*fifo
	head    *Item            // the first of those without a place, for which one is reserved
	refused map[string]*Item // by shape: one that was refused although nothing was kept from it
}

func (q *Queue) cluster(cluster string) *clusterQueue {
	l := q.clusters[cluster]
	if l == nil {
		l = &clusterQueue{cluster: cluster, fifos: map[fifoKey]*fifo{}, refused: map[string]*Item{}}
		q.clusters[cluster] = l
	}
	return l
}

// MarkPlaced says that an item has a place.
func (q *Queue) MarkPlaced(item *Item, now time.Time) {
	q.Remove(item.ID())
	for _, id := range item.Tasks {
		q.StartUsage(id, item.Team, item.GPUs, time.Time{}, now)
	}
}

// Unplace says that an item does not have the place that it was given.
func (q *Queue) Unplace(item *Item, now time.Time) {
	for _, id := range item.Tasks {
		q.EndUsage(id, now, now)
	}
}

// Idle says whether nothing is offered a place: Round would give none before Wake, or before shares have changed.
func (q *Queue) Idle() bool {
	for _, b := range q.sortedBuckets {
		if len(b.fifos) > 0 {
			return false
		}
	}
	return true
}

// RetryRefused offers again what a change in a cluster could help: help is asked for one item of each shape.
func (q *Queue) RetryRefused(cluster string, help func(*Item) bool) {
	l := q.cluster(cluster)
	for shape, item := range l.refused {
		if help(item) {
			delete(l.refused, shape)
		}
	}
	for _, c := range l.fifos {
		if c.blocked && l.refused[c.class] == nil && (!c.backfillBlocked || help(c.oldest())) {
			q.unblock(c)
		}
	}
}

// ResetRefusals is Wake after a change of the hosts themselves, which could help even who would never have had a place.
func (q *Queue) ResetRefusals(cluster string) {
	l := q.cluster(cluster)
	clear(l.refused)
	for _, c := range l.fifos {
		c.infeasible = false
		q.unblock(c)
	}
}

func (q *Queue) unblock(c *fifo) {
	c.blocked, c.backfillBlocked = false, false
	q.fixHeap(c)
}

// Refused lists the first items of those that there is no room for now, in their order, at most so many of each cluster. Of
// those that are alike only one is in it.
func (q *Queue) Refused(now time.Time, most int) []*Item {
	var all []*Item
	for _, cluster := range slices.Sorted(maps.Keys(q.clusters)) {
		var items []*Item
		for _, c := range q.clusters[cluster].fifos {
			if c.blocked && !c.backfillBlocked {
				items = append(items, c.oldest())
			}
		}
		slices.SortFunc(items, func(a, b *Item) int { return q.sortKeyOf(a, now).compare(q.sortKeyOf(b, now)) })
		all = append(all, items[:min(most, len(items))]...)
	}
	return all
}
