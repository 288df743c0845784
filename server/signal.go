package server

import "sync"

// signal wakes everybody who waits for it, each time it fires. The zero value is ready.
type signal struct {
	mu sync.Mutex
	c  chan struct{}
}

// next is closed when the signal fires for the first time after this call.
func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *signal) fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
