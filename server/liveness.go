package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pinion/raftfsm"
)

// beats is when the leader last heard of each host. It lives in the leader's memory for one term and never goes through
// the log; a new leader knows nothing and grants every host one lease from the start of its term.
type beats struct {
	since time.Time
	mu    sync.Mutex
	last  map[string]time.Time
}

func newBeats(since time.Time) *beats {
	return &beats{since: since, last: make(map[string]time.Time)}
}

// heard notes that the host lives.
func (b *beats) heard(host string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last[host] = now
}

// silence is how long nothing was heard of the host.
func (b *beats) silence(host string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, ok := b.last[host]
	if !ok {
		last = b.since
	}
	return now.Sub(last)
}

// Heartbeat says that the host lives. raftfsm.ErrNotFound when the pool does not know the host: it must join first.
func (s *Server) Heartbeat(_ context.Context, hostID string) error {
	t, err := s.leading()
	if err != nil {
		return err
	}
	if s.state.View().Host(hostID) == nil {
		return fmt.Errorf("host %s: %w", hostID, raftfsm.ErrNotFound)
	}
	t.beats.heard(hostID, s.cfg.Now())
	return nil
}

// Connected reports whether the host was heard of within Config.LostAfter. Only the leader knows.
func (s *Server) Connected(hostID string) bool {
	t := s.term.Load()
	return t != nil && t.beats.silence(hostID, s.cfg.Now()) < s.cfg.LostAfter
}
