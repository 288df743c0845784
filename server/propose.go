package server

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
)

// enqueueTimeout is how long Raft may be busy before a change is turned away.
const enqueueTimeout = 5 * time.Second

// Propose records a command and returns its answer. A refusal by the state is returned as it is; any other error wraps
// raftfsm.ErrUnavailable and says whether the change may have been recorded.
func (s *Server) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	if err := s.acquire(); err != nil {
		return nil, err
	}
	defer s.drain.release()
	if _, err := s.requireLeader(); err != nil {
		return nil, s.preferDiskFull(err)
	}
	return s.propose(ctx, c)
}

// propose is Apply without asking whether this server may answer: the first command of a term goes through here.
// Many records that arrive together share one write to the disk, which is Raft's own doing.
func (s *Server) propose(ctx context.Context, c raftfsm.Command) (any, error) {
	if err := s.checkDisk(c); err != nil {
		return nil, err
	}
	entry, err := s.state.View().Encode(c)
	if err != nil {
		return nil, err
	}
	answered := make(chan struct{})
	var future raft.ApplyFuture
	go func() {
		defer close(answered)
		future = s.raft.Apply(entry, enqueueTimeout)
		future.Error()
	}()
	select {
	case <-answered:
	case <-s.answering.Done():
		return nil, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, context.Cause(s.answering))
	case <-ctx.Done():
		return nil, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, context.Cause(ctx))
	}
	if err := future.Error(); err != nil {
		return nil, s.mapRaftError(err)
	}
	outcome := future.Response().(raftfsm.Outcome)
	return outcome.Value, outcome.Err
}
