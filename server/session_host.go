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
	h.updatePoolInfo(u.PoolInfo, nil)
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
	return h.checkIncarnation(incarnation)
}

// Agent is what the agent of this host needs of the pool.
func (m *Member) Agent() *dispatch.Upstream { return m.upstream }
