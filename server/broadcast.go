package server

import "sync"

// broadcast wakes everybody who waits for it, each time it fires. The zero value is ready.
type broadcast struct {
	mu sync.Mutex
	c  chan struct{}
}

// Wait is closed when the signal fires for the first time after this call.
func (s *broadcast) Wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *broadcast) Notify() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
