package membership

import (
	"context"
	"time"
)

// disconnectGrace is the time for which a removed host keeps the connections it has.
const disconnectGrace = time.Second

// HostAdmin changes which hosts are servers, and removes hosts. Where this host does not lead its methods fail with
// spec.ErrNotLeader.
type HostAdmin struct {
	Servers   func() (*Servers, error) // of the server here, while it leads
	CloseHost func(hostID string)      // ends the connections of a host that was removed
	// Offset is the lead of a host's clock over this one's, as the server here has measured it.
	Offset func(hostID string) time.Duration
}

// Roles is the role of each host, by id.
func (h HostAdmin) Roles(ctx context.Context) (map[string]string, error) {
	servers, err := h.Servers()
	if err != nil {
		return nil, err
	}
	return servers.Roles(ctx)
}

// ClockOffset is the lead of a host's clock over this one's, negative when it is behind; zero when it is not off.
func (h HostAdmin) ClockOffset(hostID string) time.Duration { return h.Offset(hostID) }

// Promote makes a host a server: see Servers.
func (h HostAdmin) Promote(ctx context.Context, id string) error {
	servers, err := h.Servers()
	if err != nil {
		return err
	}
	return servers.Promote(ctx, id)
}

// Demote makes a server an agent: see Servers.
func (h HostAdmin) Demote(ctx context.Context, id string) error {
	servers, err := h.Servers()
	if err != nil {
		return err
	}
	return servers.Demote(ctx, id)
}

// RemoveHost ends a host's membership for ever: see Servers.
func (h HostAdmin) RemoveHost(ctx context.Context, id string, force bool) error {
	servers, err := h.Servers()
	if err != nil {
		return err
	}
	if err := servers.RemoveHost(ctx, id, force); err != nil {
		return err
	}
	// New connections of the host are refused from now on. Those that it has may carry this very answer: it is given a
	// moment.
	time.AfterFunc(disconnectGrace, func() { h.CloseHost(id) })
	return nil
}
