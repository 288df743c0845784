package server

import (
	"context"
	"time"

	"pinion/server/peer"
)

// disconnectGrace is how long a removed host keeps the connections it has.
const disconnectGrace = time.Second

// HostAdmin changes which hosts are servers, and removes hosts. Where this host does not lead its methods fail with
// spec.ErrNotLeader.
type HostAdmin struct {
	server *localServer
	port   *peer.Port
}

// Roles is the role of each host, by id.
func (h HostAdmin) Roles(ctx context.Context) (map[string]string, error) {
	own, err := h.server.leading()
	if err != nil {
		return nil, err
	}
	return own.servers.Roles(ctx)
}

// ClockOffset is how much the clock of a host is ahead of this one's, negative when it is behind; zero when it is not off.
func (h HostAdmin) ClockOffset(hostID string) time.Duration {
	if own := h.server.Load(); own != nil {
		return own.liveness.ClockOffset(hostID)
	}
	return 0
}

// Promote makes a host a server: see membership.Servers.
func (h HostAdmin) Promote(ctx context.Context, id string) error {
	own, err := h.server.leading()
	if err != nil {
		return err
	}
	return own.servers.Promote(ctx, id)
}

// Demote makes a server an agent: see membership.Servers.
func (h HostAdmin) Demote(ctx context.Context, id string) error {
	own, err := h.server.leading()
	if err != nil {
		return err
	}
	return own.servers.Demote(ctx, id)
}

// RemoveHost ends a host's membership for ever: see membership.Servers.
func (h HostAdmin) RemoveHost(ctx context.Context, id string, force bool) error {
	own, err := h.server.leading()
	if err != nil {
		return err
	}
	if err := own.servers.RemoveHost(ctx, id, force); err != nil {
		return err
	}
	// New connections of the host are refused from now on. Those that it has may carry this very answer: it is given a
	// moment.
	time.AfterFunc(disconnectGrace, func() { h.port.CloseHost(id) })
	return nil
}
