package raftfsm

import (
	"context"
	"sync"
)

// appliedSignal wakes the goroutines that wait for the next change of a state. The zero value is ready.
type appliedSignal struct {
	mu sync.Mutex
	c  chan struct{}
}

func (a *appliedSignal) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.c == nil {
		a.c = make(chan struct{})
	}
	return a.c
}

func (a *appliedSignal) notify() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.c != nil {
		close(a.c)
		a.c = nil
	}
}

// WaitForIndex waits until the state has the change at index, and everything before it. The error is the cause of the
// context's end.
func (s *State) WaitForIndex(ctx context.Context, index uint64) error {
	for {
		applied := s.applied.wait()
		if s.View().Index() >= index {
			return nil
		}
		select {
		case <-applied:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
