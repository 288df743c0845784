package server

import (
	"context"
	"log/slog"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/admission"
	"pinion/server/dispatch"
	"pinion/server/liveness"
	"pinion/server/membership"
)

// sessionHost is this host at either end of a session.
type sessionHost struct {
	*membership.PoolFollower
	cfg    MemberConfig
	log    *slog.Logger
	server *localServer
	role   *membership.RoleFollower
	auth   *membership.PeerAuthorizer
	fail   func(error) // ends the process
}

// Backend is that of the server here, nil while this host is an agent.
func (h *sessionHost) Backend() *dispatch.Backend {
	if own := h.server.Load(); own != nil {
		return own.agents
	}
	return nil
}

// PoolInfo is the pool info as this host knows it.
func (h *sessionHost) PoolInfo() spec.PoolInfo { return h.Cache.PoolInfo() }

// OnPoolInfo takes in what a session tells of the pool.
func (h *sessionHost) OnPoolInfo(u dispatch.PoolInfoUpdate) {
	h.UpdatePoolInfo(u.PoolInfo, false)
	h.role.SetDesired(u.Server)
}

// OnClock says that this host's clock begins or ceases to be off.
func (h *sessionHost) OnClock(address string, offset time.Duration) {
	if offset == 0 {
		h.log.Info("the clock of this machine is right again", "server", address)
		return
	}
	h.log.Warn("the clocks of this machine and of a server differ", "offset", liveness.DescribeOffset(offset)+" the server's", "server", address,
		"action", "set the clock of the machine that is wrong, for example with `timedatectl set-ntp true`: certificates and signed requests are refused when clocks differ")
}

// Now is this host's clock.
func (h *sessionHost) Now() time.Time { return h.cfg.Now() }

// CheckRemoved asks whether this host was removed.
func (h *sessionHost) CheckRemoved(ctx context.Context) error {
	return admission.CheckRemoved(ctx, h.cfg.Identity, h.cfg.HostID, h.Cache.Peers(h.cfg.Address), h.cfg.Now, h.auth.CheckServer)
}

// Fail ends the process.
func (h *sessionHost) Fail(err error) { h.fail(err) }
