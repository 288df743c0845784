// Package queue decides who of those that wait is next: the order of tasks, the shares and quotas of teams, and what may
// start before its turn. It is pure: the moment is an argument, and the same history gives the same answers.
package queue

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/btree"
)

// Item is what waits: a task, or the tasks of a gang, which start together. Nobody changes one that was handed over.
type Item struct {
	Tasks    []string // ids; the first one is the item's
	Cluster  string
	Team     string
	Priority int
	Since    time.Time
	Limit    time.Duration // it ends so long after it started; 0: it does not end by itself
	GPUs     int           // that each task asks for
	Class    string        // all that a place has to meet; where one of a shape has no place no other of it has one
	Payload  any           // what the caller made it of; the queue does not look at it
}

// ID names the item.
func (i *Item) ID() string { return i.Tasks[0] }

// totalGPUs is how many GPUs it takes in all.
func (i *Item) totalGPUs() int { return i.GPUs * len(i.Tasks) }

// fifo is what items have in common that are tried alike: when the first of them has no place, none has.
type fifo struct {
	fifoKey
	items           *btree.BTreeG[*Item] // by age, never empty
	blocked         bool                 // the first was refused, and nothing has come that could help it
	backfillBlocked bool                 // that was because of what is kept for the head
	infeasible      bool                 // no host, however empty, has room for the first
	heapIndex       int                  // in its bucket's heap; -1: it is not there
}

// oldest is the oldest of the class.
func (c *fifo) oldest() *Item {
	item, _ := c.items.Min()
	return item
}

type fifoKey struct {
	cluster, team, class string
	priority             int
	limit                time.Duration
	totalGPUs            int
}

// queuedItem is an item in its class.
type queuedItem struct {
	*Item
	fifo *fifo
}

// bucket holds the classes of a team that ask for the same number of GPUs: to those fair shares and quotas are the same,
// so only the first of them has to be compared with others.
type bucket struct {
	team      *team
	totalGPUs int
	fifos     []*fifo // a heap of those that are not blocked
}

type bucketKey struct {
	team      string
	totalGPUs int
}

// Queue is everything that waits, and what teams hold and have held. It is for one goroutine at a time.
type Queue struct {
	entries       map[string]*queuedItem // by the id of a task
	buckets       map[bucketKey]*bucket
	sortedBuckets []*bucket // by team and GPUs, so that nothing depends on the order of a map
	teams         map[string]*team
	usage         map[string]*gpuUsage     // by the id of a task
	clusters      map[string]*clusterQueue // by cluster
}

// New is a queue in which nothing waits.
func New() *Queue {
	return &Queue{
		entries: map[string]*queuedItem{}, buckets: map[bucketKey]*bucket{},
		teams: map[string]*team{}, usage: map[string]*gpuUsage{}, clusters: map[string]*clusterQueue{},
	}
}

// Len is how many tasks wait.
func (q *Queue) Len() int { return len(q.entries) }

// Contains says whether the task is one of those that wait.
func (q *Queue) Contains(task string) bool { return q.entries[task] != nil }

// Add takes in an item; one that waits already is replaced.
func (q *Queue) Add(item *Item) {
	q.Remove(item.ID())
	e := &queuedItem{Item: item, fifo: q.fifo(item)}
	for _, id := range item.Tasks {
		q.entries[id] = e
	}
	e.fifo.items.Set(item)
	q.fixHeap(e.fifo)
}

// Remove takes out the item that a task belongs to, if it waits.
func (q *Queue) Remove(task string) {
	e := q.entries[task]
	if e == nil {
		return
	}
	for _, id := range e.Tasks {
		delete(q.entries, id)
	}
	if items := e.fifo.items; e.fifo.oldest() == e.Item {
		items.PopMin() // needs no search
	} else {
		items.Delete(e.Item)
	}
	q.fixHeap(e.fifo)
	q.clearRefusal(e)
}

// clearRefusal offers again what is like an item that is taken out: that one may have been refused, even for ever, only
// because it was gone before the queue heard of it.
func (q *Queue) clearRefusal(e *queuedItem) {
	e.fifo.infeasible = false
	if e.fifo.blocked {
		q.unblock(e.fifo)
	}
	l := q.cluster(e.Cluster)
	if l.refused[e.Class] != e.Item {
		return
	}
	delete(l.refused, e.Class)
	for _, c := range l.fifos {
		if c.class == e.Class && c.blocked {
			q.unblock(c)
		}
	}
}

func (q *Queue) fifo(item *Item) *fifo {
	key := fifoKey{item.Cluster, item.Team, item.Class, item.Priority, item.Limit, item.totalGPUs()}
	classes := q.cluster(item.Cluster).fifos
	if classes[key] == nil {
		items := btree.NewBTreeGOptions(older, btree.Options{NoLocks: true})
		classes[key] = &fifo{fifoKey: key, items: items, heapIndex: -1}
	}
	return classes[key]
}

// fixHeap puts a class where it belongs after its items, or whether it is blocked, have changed.
func (q *Queue) fixHeap(c *fifo) {
	b := q.bucket(c)
	offered := c.items.Len() > 0 && !c.blocked
	switch {
	case offered && c.heapIndex < 0:
		heap.Push(b, c)
	case offered:
		heap.Fix(b, c.heapIndex)
	case c.heapIndex >= 0:
		heap.Remove(b, c.heapIndex)
	}
	if c.items.Len() == 0 {
		delete(q.cluster(c.cluster).fifos, c.fifoKey)
	}
}

func (q *Queue) bucket(c *fifo) *bucket {
	key := bucketKey{c.team, c.totalGPUs}
	b := q.buckets[key]
	if b == nil {
		b = &bucket{team: q.team(c.team), totalGPUs: c.totalGPUs}
		q.buckets[key] = b
		at, _ := slices.BinarySearchFunc(q.sortedBuckets, b, compareBuckets)
		q.sortedBuckets = slices.Insert(q.sortedBuckets, at, b)
	}
	return b
}

func compareBuckets(a, b *bucket) int {
	return cmp.Or(strings.Compare(a.team.name, b.team.name), cmp.Compare(a.totalGPUs, b.totalGPUs))
}
