package server

import (
	"context"
	"io"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/backup"
	"pinion/server/dryrun"
	"pinion/server/schedule/rollout"
)

// The methods below answer API requests while this host leads; otherwise api forwards them to the leader. See Leadership.

// View is Server.View.
func (m *Member) View(ctx context.Context) (*raftfsm.View, error) {
	own, err := m.server.get()
	if err != nil {
		return nil, err
	}
	return own.View(ctx)
}

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

// Connected is Server.Connected: only the leader knows.
func (m *Member) Connected(hostID string) bool {
	own := m.localServer()
	return own != nil && own.Connected(hostID)
}

// Queue lists and explains pending tasks. Its methods fail with spec.ErrNotLeader where this host does not lead.
type Queue struct{ server *localServer }

// Queue is scheduler.Scheduler.Queue.
func (q Queue) Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error) {
	own, err := q.server.get()
	if err != nil {
		return nil, err
	}
	return own.scheduler.Queue(ctx, cluster)
}

// Explain is scheduler.Scheduler.Explain.
func (q Queue) Explain(ctx context.Context, task string) (spec.Explanation, error) {
	own, err := q.server.get()
	if err != nil {
		return spec.Explanation{}, err
	}
	return own.scheduler.Explain(ctx, task)
}

// ExplainBriefly is scheduler.Scheduler.ExplainBriefly.
func (q Queue) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	own, err := q.server.get()
	if err != nil {
		return spec.Explanation{}, err
	}
	return own.scheduler.ExplainBriefly(ctx, task)
}

// Rollouts knows those of services. Its methods fail with spec.ErrNotLeader on an agent.
type Rollouts struct{ server *localServer }

// DryRunService is what the pool will do with a service of a fork of its state, which it changes. spec.ErrNotFound.
func (p Rollouts) DryRunService(ctx context.Context, fork *raftfsm.State, cluster, name string) (service.DryRun, error) {
	own, err := p.server.get()
	if err != nil {
		return service.DryRun{}, err
	}
	return dryrun.Run(ctx, fork, cluster, name, own.node.Now(), own.liveness.Schedulable)
}

// ServiceProgress is rollout.Progress now.
func (p Rollouts) ServiceProgress(v *raftfsm.View, s *service.Service) (service.Progress, error) {
	own, err := p.server.get()
	if err != nil {
		return service.Progress{}, err
	}
	return rollout.Progress(v, s, own.node.Now()), nil
}

// StaleView returns this host's copy of the state, which may lag behind. An agent has none: spec.ErrUnavailable.
func (m *Member) StaleView() (*raftfsm.View, error) {
	own, err := m.server.get()
	if err != nil {
		return nil, err
	}
	return own.state.View(), nil
}

// SaveSnapshot writes the state, with a checksum at its end, and the history of ended tasks if it is asked for. A history that cannot be
// read is not missed: the snapshot says why it has none.
func (m *Member) SaveSnapshot(ctx context.Context, w io.Writer, withHistory bool) error {
	view, err := m.View(ctx)
	if err != nil {
		return err
	}
	if !withHistory {
		return view.WriteSnapshot(w)
	}
	past, err := m.Ended.archive(ctx, view.Index())
	if err != nil {
		past = backup.Without(err)
	}
	return backup.Write(w, view, past)
}
