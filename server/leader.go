package server

import (
	"context"
	"sync"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/orchestrator"
)

// leaderTerm is one stretch of leadership during which this server may answer: everything that earlier leaders acknowledged
// is in its state. Its context ends with it.
type leaderTerm struct {
	ctx context.Context
}

// watchLeadership starts and ends terms as Raft says. It is the only one that reads s.leads, which Raft writes to
// without waiting for more than this loop.
func (s *Server) watchLeadership() {
	for {
		select {
		case leads := <-s.leaderCh:
			if leads {
				s.runTerm()
			}
		case <-s.life.Done():
			return
		}
	}
}

// runTerm leads for one term and returns when it is over and its loops have ended.
func (s *Server) runTerm() {
	ctx, cancel := context.WithCancel(context.Background())
	var loops sync.WaitGroup
	loops.Go(func() { s.runLeader(ctx) })
	select {
	case <-s.leaderCh: // it can only be false
	case <-s.life.Done():
	}
	s.leaderTerm.Store(nil)
	s.leaderChanged()
	cancel()
	loops.Wait()
	s.leaderTerm.Store(nil) // the term may have begun while it ended
	s.leaderChanged()
}

// runLeader waits until the state has caught up, opens the term, and runs the leader's loops until ctx ends.
func (s *Server) runLeader(ctx context.Context) {
	if err := s.catchUp(ctx); err != nil {
		s.log.Warn("leadership was lost before it began", "error", err)
		return
	}
	s.liveness.StartTerm(time.Since(s.raft.LastContact()))
	t := &leaderTerm{ctx: ctx}
	scheduling := s.scheduler.StartTerm(ctx)
	reaper, lifecycle := orchestrator.NewReaper(s, s.log), orchestrator.NewTaskLifecycle(s, s.log)
	s.stallDetector.reset(time.Now())
	s.leaderTerm.Store(t)
	s.markReady()
	s.leaderChanged()
	s.log.Info("this server leads the pool", "host", s.cfg.HostID, "pool", s.cfg.PoolID)
	var loops sync.WaitGroup
	loops.Go(func() { s.stallDetector.watch(ctx) })
	for _, loop := range scheduling {
		loops.Go(loop)
	}
	loops.Go(func() { reaper.Loop(ctx) })
	loops.Go(func() { lifecycle.Loop(ctx) })
	loops.Go(func() { s.liveness.GiveUpSilentHosts(ctx, s) })
	if s.cfg.peers != nil {
		loops.Go(func() { s.servers.Reconcile(ctx) })
	}
	loops.Wait()
}

// catchUp returns when every entry of earlier terms is in the state, and the pool has its identity.
func (s *Server) catchUp(ctx context.Context) error {
	if err := s.barrier(ctx); err != nil {
		return err
	}
	return s.initPool(ctx)
}

// barrier returns when every entry before the call is committed and in the state.
func (s *Server) barrier(ctx context.Context) error {
	reached := make(chan error, 1)
	go func() { reached <- s.raft.Barrier(0).Error() }()
	select {
	case err := <-reached:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// initPool records what a pool begins with, each part once.
func (s *Server) initPool(ctx context.Context) error {
	if s.state.View().Pool() == nil {
		pool := spec.Pool{ID: s.cfg.PoolID, CreatedAt: s.cfg.Now(), Settings: s.cfg.Settings}
		if _, err := s.propose(ctx, raftfsm.CreatePool{Pool: pool}); err != nil {
			return err
		}
	}
	if s.cfg.recovering && !s.hasLed() {
		if err := s.bumpIncarnation(ctx); err != nil {
			return err
		}
	}
	if s.cfg.CA == nil || s.state.View().CA() != nil {
		return nil
	}
	authority, held := s.cfg.CA()
	if !held {
		return nil
	}
	_, err := s.propose(ctx, raftfsm.PutCA{Authority: authority})
	return err
}

// markReady lets Open return: the first term of this process has begun.
func (s *Server) markReady() {
	if !s.hasLed() {
		close(s.ready)
	}
}
