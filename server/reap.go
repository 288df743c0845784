package server

import (
	"context"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// How long the state remembers what is over, and how often the leader looks.
const (
	stoppedRetention  = time.Hour
	tokenRetention    = 24 * time.Hour
	reapInterval      = time.Minute
	tokenReapInterval = time.Hour // tokens cannot be seen from here, so they are swept this often
)

// reapLoop keeps the state bounded until ctx ends.
func (s *Server) reapLoop(ctx context.Context) {
	tick := time.NewTicker(reapInterval)
	defer tick.Stop()
	swept := s.cfg.Now()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := s.cfg.Now()
		if now.Sub(swept) < tokenReapInterval && !hasExpired(s.state.View(), now.Add(-stoppedRetention)) {
			continue
		}
		if err := s.reap(ctx, now); err != nil {
			s.log.Warn("cannot forget stopped tasks, will try again", "error", err)
			continue
		}
		swept = now
	}
}

// reap forgets what is over at now.
func (s *Server) reap(ctx context.Context, now time.Time) error {
	reap := raftfsm.Reap{Before: now.Add(-stoppedRetention), TokensBefore: now.Add(-tokenRetention)}
	forgotten, err := s.propose(ctx, reap)
	if err == nil {
		s.log.Debug("forgot stopped tasks", "tasks", forgotten)
	}
	return err
}

// hasExpired reports whether there is something to forget, so that a quiet pool writes nothing.
func hasExpired(v *raftfsm.View, before time.Time) bool {
	for _, t := range v.Tasks("") {
		if t.LastStatus == spec.Stopped && t.Times.Stopped.Before(before) {
			return true
		}
	}
	return v.HasExpired(before)
}
