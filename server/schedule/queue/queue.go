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
	Shape    string        // all that a place has to meet; where one of a shape has no place no other of it has one
	Of       any           // what the caller made it of; the queue does not look at it
}

// ID names the item.
func (i *Item) ID() string { return i.Tasks[0] }

// asks is how many GPUs it takes in all.
func (i *Item) asks() int { return i.GPUs * len(i.Tasks) }

// class is what items have in common that are tried alike: when the first of them has no place, none has.
type class struct {
	classKey
	items    *btree.BTreeG[*Item] // by age, never empty
	blocked  bool                 // the first was refused, and nothing has come that could help it
	behind   bool                 // that was because of what is kept for the head
	hopeless bool                 // no host, however empty, has room for the first
	at       int                  // in its bucket's heap; -1: it is not there
}

// first is the oldest of the class.
func (c *class) first() *Item {
	item, _ := c.items.Min()
	return item
}

type classKey struct {
	cluster, team, shape string
	priority             int
	limit                time.Duration
	asks                 int
}

// entry is an item in its class.
type entry struct {
	*Item
	class *class
}

// bucket holds the classes of a team that ask for the same number of GPUs: to those fair shares and quotas are the same,
// so only the first of them has to be compared with others.
type bucket struct {
	team    *team
	asks    int
	classes []*class // a heap of those that are not blocked
}

type bucketKey struct {
	team string
	asks int
}

// Queue is everything that waits, and what teams hold and have held. It is for one goroutine at a time.
type Queue struct {
	entries map[string]*entry // by the id of a task
	buckets map[bucketKey]*bucket
	order   []*bucket // by team and GPUs, so that nothing depends on the order of a map
	teams   map[string]*team
	holds   map[string]*hold // by the id of a task
	lines   map[string]*line // by cluster
}

// New is a queue in which nothing waits.
func New() *Queue {
	return &Queue{
		entries: map[string]*entry{}, buckets: map[bucketKey]*bucket{},
		teams: map[string]*team{}, holds: map[string]*hold{}, lines: map[string]*line{},
	}
}

// Len is how many tasks wait.
func (q *Queue) Len() int { return len(q.entries) }

// Waits says whether the task is one of those that wait.
func (q *Queue) Waits(task string) bool { return q.entries[task] != nil }

// Add takes in an item; one that waits already is replaced.
func (q *Queue) Add(item *Item) {
	q.Remove(item.ID())
	e := &entry{Item: item, class: q.class(item)}
	for _, id := range item.Tasks {
		q.entries[id] = e
	}
	e.class.items.Set(item)
	q.sift(e.class)
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
	if items := e.class.items; e.class.first() == e.Item {
		items.PopMin() // needs no search
	} else {
		items.Delete(e.Item)
	}
	q.sift(e.class)
	q.forgetRefusal(e)
}

// forgetRefusal offers again what is like an item that is taken out: that one may have been refused, even for ever, only
// because it was gone before the queue heard of it.
func (q *Queue) forgetRefusal(e *entry) {
	e.class.hopeless = false
	if e.class.blocked {
		q.offer(e.class)
	}
	l := q.line(e.Cluster)
	if l.full[e.Shape] != e.Item {
		return
	}
	delete(l.full, e.Shape)
	for _, c := range l.classes {
		if c.shape == e.Shape && c.blocked {
			q.offer(c)
		}
	}
}

func (q *Queue) class(item *Item) *class {
	key := classKey{item.Cluster, item.Team, item.Shape, item.Priority, item.Limit, item.asks()}
	classes := q.line(item.Cluster).classes
	if classes[key] == nil {
		items := btree.NewBTreeGOptions(older, btree.Options{NoLocks: true})
		classes[key] = &class{classKey: key, items: items, at: -1}
	}
	return classes[key]
}

// sift puts a class where it belongs after its items, or whether it is blocked, have changed.
func (q *Queue) sift(c *class) {
	b := q.bucket(c)
	offered := c.items.Len() > 0 && !c.blocked
	switch {
	case offered && c.at < 0:
		heap.Push(b, c)
	case offered:
		heap.Fix(b, c.at)
	case c.at >= 0:
		heap.Remove(b, c.at)
	}
	if c.items.Len() == 0 {
		delete(q.line(c.cluster).classes, c.classKey)
	}
}

func (q *Queue) bucket(c *class) *bucket {
	key := bucketKey{c.team, c.asks}
	b := q.buckets[key]
	if b == nil {
		b = &bucket{team: q.team(c.team), asks: c.asks}
		q.buckets[key] = b
		at, _ := slices.BinarySearchFunc(q.order, b, compareBuckets)
		q.order = slices.Insert(q.order, at, b)
	}
	return b
}

func compareBuckets(a, b *bucket) int {
	return cmp.Or(strings.Compare(a.team.name, b.team.name), cmp.Compare(a.asks, b.asks))
}
