// Package queue orders pending tasks: priorities, fair shares and quotas of teams, and backfill behind the head of each
// cluster. It is pure: the time is an argument, and the same history gives the same answers.
package queue

import (
	"container/heap"
	"time"

	"github.com/tidwall/btree"
)

// Item is one pending unit: a task, or the tasks of a gang, which start together. It is immutable once it was added.
type Item struct {
	Tasks    []string // task ids; the first one is the id of the item
	Cluster  string
	Team     string
	Priority int
	First    bool // it comes before every item that does not
	Since    time.Time
	Limit    time.Duration // time limit, from the start of the task; 0: none
	GPUs     int           // demand of each task, in the caller's unit of usage and quotas; the scheduler counts thousandths of a GPU
	Class    string        // equivalence class: when one item of a class finds no place, no other item of it does
	Payload  any           // the caller's own; the queue does not look at it
}

// ID is the id of the item's first task.
func (i *Item) ID() string { return i.Tasks[0] }

// totalGPUs is the demand of all tasks of the item.
func (i *Item) totalGPUs() int { return i.GPUs * len(i.Tasks) }

// fifo holds interchangeable items, oldest first. Only the first item is tried: when it finds no host, no other item of the
// fifo does.
type fifo struct {
	fifoKey
	items           *btree.BTreeG[*Item] // by age; never empty while the fifo is in its cluster
	clusterQueue    *clusterQueue
	bucket          *bucket
	blocked         bool // the first item was refused, and no change since could help it
	backfillBlocked bool // it was refused only because of the reservation of the head
	infeasible      bool // no host has room for the first item, however empty
	heapIndex       int  // index in the heap of its bucket; -1: blocked or empty
}

// oldest returns the first item.
func (f *fifo) oldest() *Item {
	item, _ := f.items.Min()
	return item
}

type fifoKey struct {
	cluster, team, class string
	first                bool
	priority             int
	limit                time.Duration
	totalGPUs            int
}

// queuedItem is an item and the fifo that holds it.
type queuedItem struct {
	*Item
	fifo *fifo
}

// bucket holds the fifos of one team with one total demand. They have the same fair share and the same quota check, so
// only the best of them has to be compared with other buckets.
type bucket struct {
	team      *team
	totalGPUs int
	members   int     // fifos that have items, blocked or not
	fifos     []*fifo // heap of the fifos that are not blocked
	offered   int     // index in Queue.offered; -1: every fifo is blocked
}

type bucketKey struct {
	team      string
	totalGPUs int
}

// Queue holds all pending items and the usage of teams. It stores nothing of a team or a cluster without items and usage. It is
// not safe for concurrent use; other goroutines read a Snapshot.
type Queue struct {
	Teams    *Teams
	queued   map[string]*queuedItem // by task id
	buckets  map[bucketKey]*bucket
	offered  []*bucket                // buckets with a fifo that is not blocked, in no order
	clusters map[string]*clusterQueue // by name
}

// New returns an empty queue.
func New() *Queue {
	return &Queue{
		Teams: newTeams(), queued: map[string]*queuedItem{}, buckets: map[bucketKey]*bucket{}, clusters: map[string]*clusterQueue{},
	}
}

// Len is the number of pending tasks.
func (q *Queue) Len() int { return len(q.queued) }

// Contains reports whether the task is pending here.
func (q *Queue) Contains(task string) bool { return q.queued[task] != nil }

// Item is the item that a task belongs to; nil when the task is not pending here.
func (q *Queue) Item(task string) *Item {
	if e := q.queued[task]; e != nil {
		return e.Item
	}
	return nil
}

// Add adds an item. It replaces an item of the same id.
func (q *Queue) Add(item *Item) {
	q.Remove(item.ID())
	e := &queuedItem{Item: item, fifo: q.fifo(item)}
	for _, id := range item.Tasks {
		q.queued[id] = e
	}
	e.fifo.items.Set(item)
	q.fixHeap(e.fifo)
}

// Remove removes the item that a task belongs to; without effect when the task is not pending here.
func (q *Queue) Remove(task string) {
	e := q.queued[task]
	if e == nil {
		return
	}
	for _, id := range e.Tasks {
		delete(q.queued, id)
	}
	if items := e.fifo.items; e.fifo.oldest() == e.Item {
		items.PopMin() // needs no search
	} else {
		items.Delete(e.Item)
	}
	q.fixHeap(e.fifo)
	q.clearRefusal(e)
}

// clearRefusal unblocks the items that a removed item's refusal blocked. The item may have been refused, even as infeasible,
// only because its task had already ended and the queue did not know yet.
func (q *Queue) clearRefusal(e *queuedItem) {
	e.fifo.infeasible = false
	if e.fifo.blocked {
		q.unblock(e.fifo)
	}
	c := e.fifo.clusterQueue
	if c.refused[e.Class] != e.Item {
		return
	}
	delete(c.refused, e.Class)
	for _, f := range c.fifos {
		if f.class == e.Class && f.blocked {
			q.unblock(f)
		}
	}
}

// fifo is the fifo for an item; a new one is added to its cluster and bucket.
func (q *Queue) fifo(item *Item) *fifo {
	key := fifoKey{item.Cluster, item.Team, item.Class, item.First, item.Priority, item.Limit, item.totalGPUs()}
	c := q.cluster(item.Cluster)
	f := c.fifos[key]
	if f == nil {
		items := btree.NewBTreeGOptions(older, btree.Options{NoLocks: true})
		f = &fifo{fifoKey: key, items: items, clusterQueue: c, bucket: q.bucket(key), heapIndex: -1}
		f.bucket.members++
		c.fifos[key] = f
	}
	return f
}

// fixHeap restores the heap order after the items of a fifo, or its blocked flag, have changed. An empty fifo is removed.
func (q *Queue) fixHeap(f *fifo) {
	b := f.bucket
	offered := f.items.Len() > 0 && !f.blocked
	switch {
	case offered && f.heapIndex < 0:
		heap.Push(b, f)
	case offered:
		heap.Fix(b, f.heapIndex)
	case f.heapIndex >= 0:
		heap.Remove(b, f.heapIndex)
	}
	q.offer(b)
	if f.items.Len() == 0 && f.clusterQueue.fifos[f.fifoKey] == f {
		q.removeFIFO(f)
	}
}

// removeFIFO removes an empty fifo, with its cluster and bucket when it was the last one there.
func (q *Queue) removeFIFO(f *fifo) {
	delete(f.clusterQueue.fifos, f.fifoKey)
	if len(f.clusterQueue.fifos) == 0 {
		delete(q.clusters, f.cluster)
	}
	b := f.bucket
	if b.members--; b.members == 0 {
		delete(q.buckets, bucketKey{f.team, f.totalGPUs})
		b.team.refs--
	}
}

func (q *Queue) bucket(f fifoKey) *bucket {
	key := bucketKey{f.team, f.totalGPUs}
	b := q.buckets[key]
	if b == nil {
		b = &bucket{team: q.Teams.add(f.team), totalGPUs: f.totalGPUs, offered: -1}
		b.team.refs++
		q.buckets[key] = b
	}
	return b
}

// offer keeps Queue.offered in step: a bucket is in it exactly while its heap is not empty.
func (q *Queue) offer(b *bucket) {
	switch last := len(q.offered) - 1; {
	case len(b.fifos) > 0 && b.offered < 0:
		b.offered = len(q.offered)
		q.offered = append(q.offered, b)
	case len(b.fifos) == 0 && b.offered >= 0:
		q.offered[b.offered] = q.offered[last]
		q.offered[b.offered].offered = b.offered
		q.offered[last] = nil
		q.offered, b.offered = q.offered[:last], -1
	}
}
