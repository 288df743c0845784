package rpc

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"pinion/raftfsm/spec"
)

// DefaultMaxWaiting is how many requests wait in a Batcher at most when its MaxWaiting is 0.
const DefaultMaxWaiting = 1 << 16

// Batcher coalesces concurrent requests (group commit): at most Concurrency batches are in flight, and later requests
// join the next one. A lone request never waits, and many at once cost few log entries, or leader checks. Its
// fields are set before the first Do.
type Batcher[In, Out any] struct {
	Handle      func([]In) []Out // answers in the order of the requests
	MaxBatch    int              // requests in one batch at most
	Concurrency int              // batches in flight at most [1]
	MaxWaiting  int              // requests that wait at most, the next one is refused with spec.ErrBusy [DefaultMaxWaiting]

	mu       sync.Mutex
	waiting  []*request[In, Out]
	inFlight int
}

type request[In, Out any] struct {
	in    In
	reply chan Out
}

// Do returns the answer to one request. When ctx ends first, the error says whether the request was in flight
// (spec.ErrOutcomeUnknown) or was withdrawn in time (spec.ErrBusy).
func (b *Batcher[In, Out]) Do(ctx context.Context, in In) (out Out, err error) {
	r := &request[In, Out]{in: in, reply: make(chan Out, 1)}
	if !b.enqueue(r) {
		return out, fmt.Errorf("%w (%d requests wait already)", spec.ErrBusy, b.maxWaiting())
	}
	select {
	case out := <-r.reply:
		return out, nil
	case <-ctx.Done():
		if b.withdraw(r) {
			return out, fmt.Errorf("%w (%w)", spec.ErrBusy, context.Cause(ctx))
		}
		return out, fmt.Errorf("%w (%w)", spec.ErrOutcomeUnknown, context.Cause(ctx))
	}
}

func (b *Batcher[In, Out]) maxWaiting() int {
	if b.MaxWaiting == 0 {
		return DefaultMaxWaiting
	}
	return b.MaxWaiting
}

// enqueue adds a request and starts a batch when one more may be in flight; false when the queue is full.
func (b *Batcher[In, Out]) enqueue(r *request[In, Out]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= b.maxWaiting() {
		return false
	}
	b.waiting = append(b.waiting, r)
	if b.inFlight < max(b.Concurrency, 1) {
		b.inFlight++
		go b.drain()
	}
	return true
}

// drain handles batches until no request waits.
func (b *Batcher[In, Out]) drain() {
	for {
		batch := b.takeBatch()
		if batch == nil {
			return
		}
		ins := make([]In, len(batch))
		for i, r := range batch {
			ins[i] = r.in
		}
		for i, out := range b.Handle(ins) {
			batch[i].reply <- out
		}
	}
}

// takeBatch takes the requests that wait; without any it is nil, and one batch less is in flight.
func (b *Batcher[In, Out]) takeBatch() []*request[In, Out] {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), b.MaxBatch)
	if n == 0 {
		b.inFlight--
		return nil
	}
	batch := slices.Clone(b.waiting[:n])
	b.waiting = slices.Delete(b.waiting, 0, n)
	return batch
}

// withdraw takes back a request that is in no batch yet.
func (b *Batcher[In, Out]) withdraw(r *request[In, Out]) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.Index(b.waiting, r)
	if i >= 0 {
		b.waiting = slices.Delete(b.waiting, i, i+1)
	}
	return i >= 0
}
