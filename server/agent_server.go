package server

import (
	"context"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
)

// serverAdapter is what the packages of the server are given of it; each declares the part that it needs.
type serverAdapter struct{ s *Server }

// State is the state as this server has it.
func (c serverAdapter) State() *raftfsm.State { return c.s.state }

// Now is the server's clock.
func (c serverAdapter) Now() time.Time { return c.s.node.Now() }

// Leads reports whether this server leads and may answer.
func (c serverAdapter) Leads() bool { return c.s.Leads() }

// Propose is Server.Propose without the check that this server may answer: the caller has it, or ends with the term.
func (c serverAdapter) Propose(ctx context.Context, command raftfsm.Command) (any, error) {
	return c.s.node.Propose(ctx, command)
}

// CallLeader does something on the leader: local when this server leads, remote when another one does.
func (c serverAdapter) CallLeader(ctx context.Context, local func() error, remote func(ctx context.Context, address string) error) error {
	return c.s.callLeader(ctx, local, remote)
}

// Begin admits a call until done. The context that it returns ends with the server, which is its cause then.
func (c serverAdapter) Begin(ctx context.Context) (_ context.Context, done func(), err error) {
	release, err := c.s.node.Acquire()
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.s.node.Life(), func() { cancel(context.Cause(c.s.node.Life())) })
	return ctx, func() {
		stop()
		cancel(nil)
		release()
	}, nil
}

// CheckLeader fails when this server may not answer as the leader.
func (c serverAdapter) CheckLeader(ctx context.Context) error { return c.s.node.CheckLeader(ctx) }

// CurrentTerm is Raft's.
func (c serverAdapter) CurrentTerm() uint64 { return c.s.node.Raft().CurrentTerm() }

// Raft is the Raft node.
func (c serverAdapter) Raft() *raft.Raft { return c.s.node.Raft() }

// Connected reports whether the pool has the host, has not given it up, and heard of it within Config.LostAfter. Only the
// leader knows.
func (s *Server) Connected(hostID string) bool { return s.liveness.Connected(hostID) }
