package rpc

import "sync"

// Broadcast wakes every goroutine that waits for it, each time it is notified. The zero value is ready.
type Broadcast struct {
	mu sync.Mutex
	c  chan struct{}
}

// Wait returns a channel that is closed at the first Notify after this call.
func (b *Broadcast) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c == nil {
		b.c = make(chan struct{})
	}
	return b.c
}

// Notify wakes the goroutines that wait.
func (b *Broadcast) Notify() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.c != nil {
		close(b.c)
		b.c = nil
	}
}
