package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// batcher carries out requests in batches: while as many batches are under way as may be, the requests that arrive wait
// together for the next. A lone request never waits, and a crowd costs few log entries, or leader checks, at a time.
type batcher[In, Out any] struct {
	handle      func([]In) []Out // answers in the order of the requests
	maxBatch    int              // most requests in one batch
	concurrency int              // batches that may be under way at a time [1]

	mu      sync.Mutex
	waiting []*request[In, Out]
	running int
}

type request[In, Out any] struct {
	in    In
	reply chan Out
}

// do returns the answer to one request. When ctx ends first, the error says whether the request was under way
// (ErrOutcomeUnknown) or was withdrawn in time.
func (g *batcher[In, Out]) do(ctx context.Context, in In) (Out, error) {
	r := &request[In, Out]{in: in, reply: make(chan Out, 1)}
	g.mu.Lock()
	g.waiting = append(g.waiting, r)
	if g.running < max(g.concurrency, 1) {
		g.running++
		go g.drain()
	}
	g.mu.Unlock()
	select {
	case out := <-r.reply:
		return out, nil
	case <-ctx.Done():
		var none Out
		if g.withdraw(r) {
			return none, fmt.Errorf("%w (%w)", errBusy, context.Cause(ctx))
		}
		return none, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

// drain carries out batches until nothing waits.
func (g *batcher[In, Out]) drain() {
	for {
		batch := g.takeBatch()
		if batch == nil {
			return
		}
		ins := make([]In, len(batch))
		for i, r := range batch {
			ins[i] = r.in
		}
		for i, out := range g.handle(ins) {
			batch[i].reply <- out
		}
	}
}

// takeBatch takes the requests that wait; nil, and one less is running, when there are none.
func (g *batcher[In, Out]) takeBatch() []*request[In, Out] {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := min(len(g.waiting), g.maxBatch)
	if n == 0 {
		g.running--
		return nil
	}
	batch := slices.Clone(g.waiting[:n])
	g.waiting = slices.Delete(g.waiting, 0, n)
	return batch
}

// withdraw takes back a request that no batch has taken yet.
func (g *batcher[In, Out]) withdraw(r *request[In, Out]) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.waiting, r)
	if i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	}
	return i >= 0
}
