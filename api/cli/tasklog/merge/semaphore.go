package merge

import (
	"context"
	"sync/atomic"
)

// semaphore bounds the streams that are open at once. It is fair: a caller that waits gets its slot in the order of the calls.
type semaphore struct {
	slots   chan struct{}
	waiting atomic.Int32
}

func newSemaphore(n int) *semaphore { return &semaphore{slots: make(chan struct{}, n)} }

// acquire waits for a slot, which release gives back.
func (s *semaphore) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	default:
	}
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// isContended reports whether somebody waits for a slot.
func (s *semaphore) isContended() bool { return s.waiting.Load() > 0 }
