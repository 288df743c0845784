package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// gather carries out requests in batches: while as many batches are under way as may be, the requests that arrive wait
// together for the next. A lone request never waits, and a crowd costs few log entries, or leader checks, at a time.
type gather[In, Out any] struct {
	carry  func([]In) []Out // answers in the order of the requests
	limit  int              // most requests in one batch
	atOnce int              // batches that may be under way at a time [1]

	mu      sync.Mutex
	waiting []*request[In, Out]
	running int
}

type request[In, Out any] struct {
	in     In
	answer chan Out
}

// do returns the answer to one request. When ctx ends first, the error says whether the request was under way
// (ErrOutcomeUnknown) or was withdrawn in time.
func (g *gather[In, Out]) do(ctx context.Context, in In) (Out, error) {
	r := &request[In, Out]{in: in, answer: make(chan Out, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	if g.running < max(g.atOnce, 1) {
		g.running++
		go g.run()
	}
	g.mu.Unlock()
	select {
	case out := <-r.answer:
		return out, nil
	case <-ctx.Done():
		var none Out
		if g.withdraw(r) {
			return none, fmt.Errorf("%w (%w)", errBusy, context.Cause(ctx))
		}
		return none, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// run carries out batches until nothing waits.
func (g *gather[In, Out]) run() {
	for {
		batch := g.next()
		if batch == nil {
			return
		}
		ins := make([]In, len(batch))
		for i, r := range batch {
			ins[i] = r.in
		}
		for i, out := range g.carry(ins) {
			batch[i].answer <- out
		}
	}
}

// next takes the requests that wait; nil, and one less is running, when there are none.
func (g *gather[In, Out]) next() []*request[In, Out] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), g.limit)
	if n == 0 {
		g.running--
		return nil
	}
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return batch
}

// withdraw takes back a request that no batch has taken yet.
func (g *gather[In, Out]) withdraw(r *request[In, Out]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, r)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}
