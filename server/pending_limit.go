package server

import (
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// pendingLimit knows how many tasks wait in each cluster at most. It counts them in the state at first and when the limit seems
// reached; in between it only adds, so that a run costs nothing here however many wait. It is used by one goroutine at a time.
type pendingLimit struct {
	max    int
	term   *leaderTerm
	view   *raftfsm.View
	counts map[string]int // by cluster
	added  map[string]int // those that were let in since the view was taken
}

// reset looks at a view that has every task that was let in before.
func (b *pendingLimit) reset(t *leaderTerm, view *raftfsm.View) {
	if b.term != t { // another leader may have let tasks in meanwhile
		b.term, b.counts = t, map[string]int{}
	}
	b.view, b.added = view, map[string]int{}
}

// reserve lets n more tasks wait in a cluster: raftfsm.ErrQueueFull when that is too many.
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
