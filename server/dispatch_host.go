package server

import (
	"context"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/liveness"
)

// sessionHost is what sessions need of this host, at either end.
type sessionHost struct {
	*poolFollower
	role *roleFollower
	auth *peerAuthorizer
	fail func(error)
}

// Backend is that of the server here, nil while this host is an agent.
func (h *sessionHost) Backend() *dispatch.Backend {
	if own := h.server.Load(); own != nil {
		return own.agents
	}
	return nil
}

// PoolInfo is what this host knows of its pool.
func (h *sessionHost) PoolInfo() spec.PoolInfo { return h.cache.PoolInfo() }

// OnPoolInfo takes in what a session tells of the pool.
func (h *sessionHost) OnPoolInfo(u dispatch.PoolInfoUpdate) {
	h.updatePoolInfo(u.PoolInfo, nil)
	h.role.desired.Store(&u.Server)
	h.role.changed.Notify()
}

// OnClock says that this host's clock begins or ceases to be off.
func (h *sessionHost) OnClock(address string, offset time.Duration) {
	if offset == 0 {
		h.log.Info("the clock of this machine is right again", "server", address)
		return
	}
	h.log.Warn("the clocks of this machine and of a server differ", "offset", liveness.DescribeOffset(offset)+" the server's", "server", address,
		"do", "set the clock of the machine that is wrong, for example with `timedatectl set-ntp true`: certificates and signed requests are refused when clocks differ")
}

// Now is this host's clock.
func (h *sessionHost) Now() time.Time { return h.cfg.Now() }

// CheckRemoved asks whether this host was removed.
func (h *sessionHost) CheckRemoved(ctx context.Context) error {
	return admission.CheckRemoved(ctx, h.cfg.Identity, h.cfg.HostID, h.cache.Peers(h.cfg.Address), h.cfg.Now, h.auth.checkServer)
}

// Fail ends the process.
func (h *sessionHost) Fail(err error) { h.fail(err) }
