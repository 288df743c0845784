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

// renew grants every host one lease more, from now.
func (b *beats) renew(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = now
	clear(b.last)
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

// Heartbeat says that the host lives. raftfsm.ErrNotFound when the pool does not know the host, or has given it up: it
// must join first. A server that does not lead passes it on with those of its other hosts; an error that wraps
// raftfsm.ErrUnavailable then says that the host had better find another server.
func (s *Server) Heartbeat(_ context.Context, hostID string) error {
	if s.term.Load() != nil || s.cfg.calls == nil {
		return s.heartbeatHere(hostID)
	}
	if err := s.known(hostID); err != nil {
		return err
	}
	return s.relay.beat(hostID)
}

func (s *Server) heartbeatHere(hostID string) error {
	t, err := s.leading()
	if err != nil {
		return err
	}
	if err := s.known(hostID); err != nil {
		return err
	}
	t.beats.heard(hostID, s.cfg.Now())
	return nil
}

func (s *Server) known(hostID string) error {
	view := s.state.View()
	switch host := view.Host(hostID); {
	case view.Removed(hostID):
		return fmt.Errorf("host %s: %w", hostID, raftfsm.ErrRemoved)
	case host == nil:
		return fmt.Errorf("host %s: %w", hostID, raftfsm.ErrNotFound)
	case host.Lost():
		return fmt.Errorf("host %s was given up at %s and has to join again: %w", hostID, host.LostAt.Format(time.RFC3339), raftfsm.ErrNotFound)
	}
	return nil
}

// Connected reports whether the host was heard of within Config.LostAfter. Only the leader knows.
func (s *Server) Connected(hostID string) bool {
	t := s.term.Load()
	return t != nil && t.connected(s.cfg, hostID)
}

func (t *term) connected(cfg Config, hostID string) bool {
	return t.beats.silence(hostID, cfg.Now()) < cfg.LostAfter
}
