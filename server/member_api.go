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
	own := m.localServer()
	if own == nil {
		return nil, errNotServer
	}
	return own.View(ctx)
}

// Propose is Server.Apply.
func (m *Member) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	own := m.localServer()
	if own == nil {
		return nil, errNotServer
	}
	return own.Propose(ctx, c)
}

// Run is Server.Run.
func (m *Member) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	own := m.localServer()
	if own == nil {
		return spec.RunResult{}, errNotServer
	}
	return own.scheduler.Run(ctx, r)
}

// Connected is Server.Connected: only the leader knows.
func (m *Member) Connected(hostID string) bool {
	own := m.localServer()
	return own != nil && own.Connected(hostID)
}

// Queue is Server.Queue.
func (m *Member) Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error) {
	own := m.localServer()
	if own == nil {
		return nil, errNotServer
	}
	return own.scheduler.Queue(ctx, cluster)
}

// Explain is Server.Explain.
func (m *Member) Explain(ctx context.Context, task string) (spec.Explanation, error) {
	own := m.localServer()
	if own == nil {
		return spec.Explanation{}, errNotServer
	}
	return own.scheduler.Explain(ctx, task)
}

// ExplainBriefly is Server.ExplainBriefly.
func (m *Member) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	own := m.localServer()
	if own == nil {
		return spec.Explanation{}, errNotServer
	}
	return own.scheduler.ExplainBriefly(ctx, task)
}

// StaleView is the state as this host has it, which may lag behind. An agent has none: raftfsm.ErrUnavailable.
func (m *Member) StaleView() (*raftfsm.View, error) {
	own := m.localServer()
	if own == nil {
		return nil, errNotServer
	}
	return own.state.View(), nil
}

// CreateKey is Server.CreateKey.
func (m *Member) CreateKey(ctx context.Context, role spec.Role, cluster string) (spec.AccessKey, error) {
	own := m.localServer()
	if own == nil {
		return spec.AccessKey{}, errNotServer
	}
	return own.CreateKey(ctx, role, cluster)
}

// RemoveKey is Server.RemoveKey.
func (m *Member) RemoveKey(ctx context.Context, id string) error {
	own := m.localServer()
	if own == nil {
		return errNotServer
	}
	return own.RemoveKey(ctx, id)
}

// KeySecret is Server.KeySecret.
func (m *Member) KeySecret(key *spec.AccessKey) (string, error) {
	own := m.localServer()
	if own == nil {
		return "", errNotServer
	}
	return own.KeySecret(key)
}

var errNotServer = fmt.Errorf("%w; this host is an agent and holds no state", ErrNotLeader)

// BootstrapKey is Server.FirstKey, of the leader, whichever host that is.
func (m *Member) BootstrapKey(ctx context.Context) (key spec.AccessKey, created bool, err error) {
	var answer spec.AccessKey
	err = m.callLeader(ctx, pathBootstrapKey, struct{}{}, &answer, func(s *Server) (err error) {
		answer, created, err = s.BootstrapKey(ctx)
		return err
	})
	return answer, created, err
}

// handleBootstrapKey gives the admin key to a host of the pool, whose root may do everything through its socket anyway.
func (m *Member) handleBootstrapKey(ctx context.Context, _ string, _ struct{}) (spec.AccessKey, error) {
	own, _, err := m.leadingServer()
	if err != nil {
		return spec.AccessKey{}, err
	}
	key, _, err := own.BootstrapKey(ctx)
	return key, err
}
