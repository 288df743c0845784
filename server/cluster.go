package server

import (
	"context"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// What the doors ask of this host is answered while it leads; api has the leader asked otherwise. See Leader.

// View is Server.View.
func (m *Member) View(ctx context.Context) (*raftfsm.View, error) {
	own := m.own()
	if own == nil {
		return nil, errAgent
	}
	return own.View(ctx)
}

// Apply is Server.Apply.
func (m *Member) Apply(ctx context.Context, c raftfsm.Command) (any, error) {
	own := m.own()
	if own == nil {
		return nil, errAgent
	}
	return own.Apply(ctx, c)
}

// Run is Server.Run.
func (m *Member) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	own := m.own()
	if own == nil {
		return spec.RunResult{}, errAgent
	}
	return own.Run(ctx, r)
}

// Connected is Server.Connected: only the leader knows.
func (m *Member) Connected(hostID string) bool {
	own := m.own()
	return own != nil && own.Connected(hostID)
}

// Queue is Server.Queue.
func (m *Member) Queue(ctx context.Context, cluster string) ([]spec.Queued, error) {
	own := m.own()
	if own == nil {
		return nil, errAgent
	}
	return own.Queue(ctx, cluster)
}

// Explain is Server.Explain.
func (m *Member) Explain(ctx context.Context, task string) (spec.Explanation, error) {
	own := m.own()
	if own == nil {
		return spec.Explanation{}, errAgent
	}
	return own.Explain(ctx, task)
}

// ExplainBriefly is Server.ExplainBriefly.
func (m *Member) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	own := m.own()
	if own == nil {
		return spec.Explanation{}, errAgent
	}
	return own.ExplainBriefly(ctx, task)
}

// StaleView is the state as this host has it, which may lag behind. An agent has none: raftfsm.ErrUnavailable.
func (m *Member) StaleView() (*raftfsm.View, error) {
	own := m.own()
	if own == nil {
		return nil, errAgent
	}
	return own.state.View(), nil
}

// CreateKey is Server.CreateKey.
func (m *Member) CreateKey(ctx context.Context, role spec.Role, cluster string) (spec.AccessKey, error) {
	own := m.own()
	if own == nil {
		return spec.AccessKey{}, errAgent
	}
	return own.CreateKey(ctx, role, cluster)
}

// RemoveKey is Server.RemoveKey.
func (m *Member) RemoveKey(ctx context.Context, id string) error {
	own := m.own()
	if own == nil {
		return errAgent
	}
	return own.RemoveKey(ctx, id)
}

// KeySecret is Server.KeySecret.
func (m *Member) KeySecret(key *spec.AccessKey) (string, error) {
	own := m.own()
	if own == nil {
		return "", errAgent
	}
	return own.KeySecret(key)
}

var errAgent = fmt.Errorf("%w; this host is an agent and holds no state", ErrNotLeader)

// FirstKey is Server.FirstKey, of the leader, whichever host that is.
func (m *Member) FirstKey(ctx context.Context) (key spec.AccessKey, created bool, err error) {
	var answer spec.AccessKey
	err = m.ask(ctx, pathKey, struct{}{}, &answer, func(s *Server) (err error) {
		answer, created, err = s.FirstKey(ctx)
		return err
	})
	return answer, created, err
}

// answerKey gives the admin key to a host of the pool, whose root may do everything through its socket anyway.
func (m *Member) answerKey(ctx context.Context, _ string, _ struct{}) (spec.AccessKey, error) {
	own, _, err := m.leads()
	if err != nil {
		return spec.AccessKey{}, err
	}
	key, _, err := own.FirstKey(ctx)
	return key, err
}
