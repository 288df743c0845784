package server

import (
	"context"
	"sync"

	"pinion/raftfsm"
)

// term is one stretch of leadership during which this server may answer: everything that earlier leaders acknowledged
// is in its state. Its context ends with it.
type term struct {
	ctx   context.Context
	beats *beats
}

// followLeadership starts and ends terms as Raft says. It is the only one that reads s.leads, which Raft writes to
// without waiting for more than this loop.
func (s *Server) followLeadership() {
	for {
		select {
		case leads := <-s.leads:
			if leads {
				s.serve()
			}
		case <-s.closing:
			return
		case <-s.done:
			return
		}
	}
}

// serve leads for one term and returns when it is over and its loops have ended.
func (s *Server) serve() {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { s.lead(ctx) })
	select {
	case <-s.leads: // it can only be false
	case <-s.closing:
	case <-s.done:
	}
	s.term.Store(nil)
	cancel()
	loops.Wait()
	s.term.Store(nil) // the term may have begun while it ended
}

// lead waits until the state has caught up, opens the term, and runs the leader's loops until ctx ends.
func (s *Server) lead(ctx context.Context) {
	if err := s.catchUp(ctx); err != nil {
		s.log.Warn("leadership was lost before it began", "error", err)
		return
	}
	s.term.Store(&term{ctx: ctx, beats: newBeats(s.cfg.Now())})
	s.open()
	s.log.Info("this server leads the pool", "host", s.cfg.HostID, "pool", s.cfg.PoolID)
	s.reapLoop(ctx)
}

// catchUp returns when every entry of earlier terms is in the state, and the pool has its identity.
func (s *Server) catchUp(ctx context.Context) error {
	caughtUp := make(chan error, 1)
	go func() { caughtUp <- s.raft.Barrier(0).Error() }()
	select {
	case err := <-caughtUp:
		if err != nil {
			return err
		}
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if s.state.View().Pool() != nil {
		return nil
	}
	_, err := s.record(ctx, raftfsm.CreatePool{Pool: raftfsm.Pool{ID: s.cfg.PoolID, CreatedAt: s.cfg.Now()}})
	return err
}

// open lets Open return: the first term of this process has begun.
func (s *Server) open() {
	if !s.begun() {
		close(s.ready)
	}
}
