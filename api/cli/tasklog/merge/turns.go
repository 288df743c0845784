package merge

import (
	"context"
	"sync/atomic"
)

// turns are as many slots for streams as may be open at once. Who waits for one gets it in the order of asking.
type turns struct {
	slots   chan struct{}
	waiting atomic.Int32
}

func newTurns(n int) *turns { return &turns{slots: make(chan struct{}, n)} }

// take waits for a slot. give gives it back.
func (t *turns) take(ctx context.Context) (give func(), err error) {
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	default:
	}
	t.waiting.Add(1)
	defer t.waiting.Add(-1)
	select {
	case t.slots <- struct{}{}:
		return func() { <-t.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// areWanted reports whether somebody waits for a slot.
func (t *turns) areWanted() bool { return t.waiting.Load() > 0 }
