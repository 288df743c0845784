package server

import (
	"context"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// The methods below answer API requests while this host leads; otherwise api forwards them to the leader. See rpc.Leadership.

// View is Server.View.
func (m *Member) View(ctx context.Context) (*raftfsm.View, error) { return m.server.linearizable(ctx) }

// Propose is Server.Propose.
func (m *Member) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	own, err := m.server.get()
	if err != nil {
		return nil, err
	}
	return own.Propose(ctx, c)
}

// Run is scheduler.Scheduler.Run.
func (m *Member) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	own, err := m.server.get()
	if err != nil {
		return spec.RunResult{}, err
	}
	return own.scheduler.Run(ctx, r)
}

// Connected reports whether the pool has the host, has not given it up, and heard of it lately. Only the leader knows.
func (m *Member) Connected(hostID string) bool { return m.server.connected(hostID) }

// StaleView returns this host's copy of the state, which may lag behind. An agent has none: spec.ErrUnavailable.
func (m *Member) StaleView() (*raftfsm.View, error) {
	own, err := m.server.get()
	if err != nil {
		return nil, err
	}
	return own.state.View(), nil
}

// Changes are raftfsm.State.Changes of the state that this host has, which follows the log whether it leads or not. Once the
// host has become an agent, which has none, the error is raftfsm.ErrUnavailable, but nobody who waits is woken for it.
func (m *Member) Changes(after raftfsm.Position, most int) ([]*raftfsm.Change, <-chan struct{}, error) {
	own, err := m.server.get()
	if err != nil {
		return nil, nil, err
	}
	return own.state.Changes(after, most)
}

// SignatureUsed is consensus.Node's: whether the log has a change by a request with this signature, which an earlier leader may have
// carried out.
func (m *Member) SignatureUsed(signature spec.Signature, signedAt time.Time) bool {
	node := m.server.node()
	return node != nil && node.SignatureUsed(signature, signedAt)
}

// LeaderState is the state of the server on this host while it leads; else nil.
func (m *Member) LeaderState() *raftfsm.State {
	if own := m.server.Load(); own != nil && own.Leads() {
		return own.state
	}
	return nil
}
