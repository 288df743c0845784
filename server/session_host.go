package server

import (
	"context"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
)

// sessionHost is what sessions need of this host, at either end.
type sessionHost struct{ m *Member }

// Backend is that of the server here, nil while this host is an agent.
func (h sessionHost) Backend() *dispatch.Backend {
	if own := h.m.localServer(); own != nil {
		return own.agents
	}
	return nil
}

// PoolInfo is what this host knows of its pool.
func (h sessionHost) PoolInfo() spec.PoolInfo { return h.m.poolCache.PoolInfo() }

// OnPoolInfo takes in what a session tells of the pool.
func (h sessionHost) OnPoolInfo(u dispatch.PoolInfoUpdate) {
	h.m.updatePoolInfo(u.PoolInfo, nil)
	h.m.desiredRole.Store(&u.Server)
	h.m.roleChanged.Notify()
}

// CheckRemoved asks whether this host was removed.
func (h sessionHost) CheckRemoved(ctx context.Context) error {
	return admission.CheckRemoved(ctx, h.m.cfg.Identity, h.m.cfg.HostID, h.m.poolCache.Peers(h.m.cfg.Address), h.m.cfg.Now)
}

// Fail ends the process.
func (h sessionHost) Fail(err error) { h.m.fail(err) }

// CheckIncarnation fails when the other host knows of a recovery that this one does not know.
func (h sessionHost) CheckIncarnation(incarnation int) error {
	return h.m.checkIncarnation(incarnation)
}

// Join makes this host known to the pool; with Assignments, Report and Heartbeat it is what the agent needs.
func (m *Member) Join(ctx context.Context, host spec.Host, running []spec.TaskReport) ([]string, error) {
	return m.upstream.Join(ctx, host, running)
}

// Assignments waits for another list of what this host must run.
func (m *Member) Assignments(ctx context.Context, hostID string, after uint64) ([]spec.Assignment, uint64, error) {
	return m.upstream.Assignments(ctx, hostID, after)
}

// Report records reports of tasks.
func (m *Member) Report(ctx context.Context, hostID string, reports []spec.TaskReport) ([]string, error) {
	return m.upstream.Report(ctx, hostID, reports)
}

// Heartbeat says that this host lives.
func (m *Member) Heartbeat(ctx context.Context, hostID string) error {
	return m.upstream.Heartbeat(ctx, hostID)
}
