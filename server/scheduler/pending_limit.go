package scheduler

import (
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// pendingLimit bounds the pending tasks of each cluster. Its counts are upper bounds: it counts in the state at first and when
// the limit seems reached, and only adds in between, so a request costs nothing here however many tasks are pending. One
// goroutine uses it at a time.
type pendingLimit struct {
	max    int
	term   *term
	view   *raftfsm.View
	counts map[string]int // by cluster; upper bounds
	added  map[string]int // by cluster, since the view was taken
}

// reset takes a view that has every task for which room was reserved before.
func (b *pendingLimit) reset(t *term, view *raftfsm.View) {
	if b.term != t { // another leader may have added tasks
		b.term, b.counts = t, map[string]int{}
	}
	b.view, b.added = view, map[string]int{}
}

// reserve takes room for n pending tasks of a cluster; spec.ErrQueueFull when there is too little.
func (b *pendingLimit) reserve(cluster string, n int) error {
	most, counted := b.counts[cluster]
	if !counted || most+n > b.max {
		most = b.added[cluster]
		for range b.view.QueuedTasks(cluster) {
			most++
		}
	}
	if most+n > b.max {
		b.counts[cluster] = most
		return spec.ErrQueueFull
	}
	b.counts[cluster] = most + n
	b.added[cluster] += n
	return nil
}
