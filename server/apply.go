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

// Apply records a command and returns its answer. A refusal by the state is returned as it is; any other error wraps
// raftfsm.ErrUnavailable and says whether the change may have been recorded.
func (s *Server) Apply(ctx context.Context, c raftfsm.Command) (any, error) {
	if err := s.begin(); err != nil {
		return nil, err
	}
	defer s.calls.RUnlock()
	if _, err := s.leading(); err != nil {
		return nil, s.explain(err)
	}
	return s.record(ctx, c)
}

// record is Apply without asking whether this server may answer: the first command of a term goes through here.
// Many records that arrive together share one write to the disk, which is Raft's own doing.
func (s *Server) record(ctx context.Context, c raftfsm.Command) (any, error) {
	if err := s.room(c); err != nil {
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
	case <-s.done:
		return nil, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, s.err)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w (%w)", ErrOutcomeUnknown, context.Cause(ctx))
	}
	if err := future.Error(); err != nil {
		return nil, s.failure(err)
	}
	outcome := future.Response().(raftfsm.Outcome)
	return outcome.Value, outcome.Err
}
