package queue

import (
	"maps"
	"slices"
	"time"
)

// clusterQueue holds the pending items of one cluster.
type clusterQueue struct {
	name    string
	fifos   map[fifoKey]*fifo
	head    *Item            // first refused item, which has the cluster's reservation; nil: none
	refused map[string]*Item // by equivalence class: an item that was refused without a reservation in its way
}

func newClusterQueue(name string) *clusterQueue {
	return &clusterQueue{name: name, fifos: map[fifoKey]*fifo{}, refused: map[string]*Item{}}
}

// cluster is the queue of a cluster; a new one is added.
func (q *Queue) cluster(name string) *clusterQueue {
	c := q.clusters[name]
	if c == nil {
		c = newClusterQueue(name)
		q.clusters[name] = c
	}
	return c
}

// lookup is the queue of a cluster for reading: an empty one when nothing is pending there.
func (q *Queue) lookup(name string) *clusterQueue {
	if c := q.clusters[name]; c != nil {
		return c
	}
	return newClusterQueue(name)
}

// Head returns the first refused item of a cluster, which has the reservation there; nil when there is none.
func (q *Queue) Head(cluster string) *Item { return q.lookup(cluster).head }

// MarkPlaced removes a placed item and starts its usage.
func (q *Queue) MarkPlaced(item *Item, now time.Time) {
	q.Remove(item.ID())
	for _, id := range item.Tasks {
		q.Teams.StartUsage(id, item.Team, item.GPUs, time.Time{}, now)
	}
}

// UndoPlacement ends the usage of an item whose placement was not recorded.
func (q *Queue) UndoPlacement(item *Item, now time.Time) {
	for _, id := range item.Tasks {
		q.Teams.EndUsage(id, now, now)
	}
}

// Idle reports whether every item is blocked: Round places nothing until RetryRefused or a change of shares unblocks one.
func (q *Queue) Idle() bool { return len(q.offered) == 0 }

// RetryRefused unblocks the items of a cluster that a change of its hosts could help. helps is called once for each refused
// class, and for each fifo that only backfill blocks.
func (q *Queue) RetryRefused(cluster string, helps func(*Item) bool) {
	c := q.lookup(cluster)
	for class, item := range c.refused {
		if helps(item) {
			delete(c.refused, class)
		}
	}
	for _, f := range c.fifos {
		if f.blocked && c.refused[f.class] == nil && (!f.backfillBlocked || helps(f.oldest())) {
			q.unblock(f)
		}
	}
}

// ResetRefusals unblocks every item of a cluster, infeasible ones too: its hosts themselves have changed.
func (q *Queue) ResetRefusals(cluster string) {
	c := q.lookup(cluster)
	clear(c.refused)
	for _, f := range c.fifos {
		f.infeasible = false
		q.unblock(f)
	}
}

func (q *Queue) unblock(f *fifo) {
	f.blocked, f.backfillBlocked = false, false
	q.fixHeap(f)
}

// Refused lists items that no host could take, in queue order, at most `most` of each cluster. Interchangeable items are
// listed once, by their first.
func (q *Queue) Refused(now time.Time, most int) []*Item {
	var all []*Item
	for _, cluster := range slices.Sorted(maps.Keys(q.clusters)) {
		var items []*Item
		for _, f := range q.clusters[cluster].fifos {
			if f.blocked && !f.backfillBlocked {
				items = append(items, f.oldest())
			}
		}
		slices.SortFunc(items, func(a, b *Item) int { return q.sortKeyOf(a, now).compare(q.sortKeyOf(b, now)) })
		all = append(all, items[:min(most, len(items))]...)
	}
	return all
}
