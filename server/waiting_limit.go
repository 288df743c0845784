package server

import (
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// backlog knows how many tasks wait in each cluster at most. It counts them in the state at first and when the limit seems
// reached; in between it only adds, so that a run costs nothing here however many wait. It is used by one goroutine at a time.
type backlog struct {
	limit int
	term  *term
	view  *raftfsm.View
	most  map[string]int // by cluster
	added map[string]int // those that were let in since the view was taken
}

// begin looks at a view that has every task that was let in before.
func (b *backlog) begin(t *term, view *raftfsm.View) {
	if b.term != t { // another leader may have let tasks in meanwhile
		b.term, b.most = t, map[string]int{}
	}
	b.view, b.added = view, map[string]int{}
}

// admit lets n more tasks wait in a cluster: raftfsm.ErrQueueFull when that is too many.
func (b *backlog) admit(cluster string, n int) error {
	most, counted := b.most[cluster]
	if !counted || most+n > b.limit {
		most = b.added[cluster]
		for range b.view.Waiting(cluster) {
			most++
		}
	}
	if most+n > b.limit {
		b.most[cluster] = most
		return spec.ErrQueueFull
	}
	b.most[cluster] = most + n
	b.added[cluster] += n
	return nil
}
