package consensus

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/failpoint"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// enqueueTimeout bounds the wait for a busy Raft before a change is refused.
const enqueueTimeout = 5 * time.Second

// Propose records a command and returns its answer. A refusal by the state is returned as it is; any other error wraps
// spec.ErrUnavailable and says whether the change may have been recorded.
func (n *Node) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	release, err := n.AcquireCall()
	if err != nil {
		return nil, err
	}
	defer release()
	if _, err := n.RequireLeader(); err != nil {
		return nil, n.PreferDiskFull(err)
	}
	return n.propose(ctx, c)
}

// propose is Propose without asking whether this server may answer: the first command of a term goes through here.
// Many records that arrive together share one write to the disk, which is Raft's own doing.
func (n *Node) propose(ctx context.Context, c raftfsm.Command) (any, error) {
	if err := n.disk.check(c); err != nil {
		return nil, err
	}
	if err := checkMemory(n.cfg.CheckMemory, n.state.View(), c); err != nil {
		return nil, err
	}
	entry, err := n.state.View().Encode(c)
	if err != nil {
		return nil, err
	}
	failpoint.Reached(failpoint.EntryProposed)
	extensions := extensionsOf(spec.SignaturesOf(ctx))
	answered, begun := make(chan struct{}), time.Now()
	var future raft.ApplyFuture
	go func() {
		defer close(answered)
		future = n.raft.ApplyLog(raft.Log{Data: entry, Extensions: extensions}, enqueueTimeout)
		future.Error()
	}()
	select {
	case <-answered:
	case <-n.answering.Done():
		return nil, fmt.Errorf("%w (%w)", spec.ErrOutcomeUnknown, context.Cause(n.answering))
	case <-ctx.Done():
		return nil, fmt.Errorf("%w (%w)", spec.ErrOutcomeUnknown, context.Cause(ctx))
	}
	if err := future.Error(); err != nil {
		return nil, n.MapRaftError(err)
	}
	failpoint.Reached(failpoint.EntryAcknowledged)
	n.measures.commits.Observe(time.Since(begun).Seconds())
	outcome := future.Response().(raftfsm.ApplyResult)
	return outcome.Value, outcome.Err
}
