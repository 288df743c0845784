// Package liveness knows which hosts are alive: it takes their heartbeats, forwards them to the leader, and gives up the
// hosts that are silent for too long.
package liveness

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/rpc"
)

// Server is the part of the local server that a Monitor uses.
type Server interface {
	State() *raftfsm.State
	Now() time.Time
	Leads() bool
}

// Monitor holds the heartbeats that a server has heard of. Whether a host is connected is the leader's to say: it hears
// of all of them. It is safe for concurrent use.
type Monitor struct {
	server            Server
	log               *slog.Logger
	leader            *rpc.LeaderTracker
	client            *rpc.Client
	disconnectedAfter time.Duration

	table      table
	forwarding forwarding
}

// New returns the monitor of a server. lostAfter is the silence after which a host counts as disconnected; client is nil
// in a pool of one server, which has no leader to forward to.
func New(server Server, log *slog.Logger, leader *rpc.LeaderTracker, client *rpc.Client, disconnectedAfter time.Duration) *Monitor {
	return &Monitor{
		server: server, log: log, leader: leader, client: client, disconnectedAfter: disconnectedAfter,
		forwarding: forwarding{now: server.Now},
	}
}

// Heartbeat takes the heartbeat of a host. spec.ErrNotFound when the pool does not know the host, or has given it up: it
// must join first. On a follower an error that wraps spec.ErrUnavailable tells the host to choose another server.
func (m *Monitor) Heartbeat(_ context.Context, hostID string) error {
	leads := m.server.Leads()
	if !leads && m.client == nil {
		return spec.ErrNotLeader
	}
	if err := m.checkKnown(hostID); err != nil {
		return err
	}
	if !leads {
		if err := m.forwarding.check(hostID); err != nil {
			return err
		}
	}
	m.table.record(hostID, m.server.Now())
	return nil
}

func (m *Monitor) checkKnown(hostID string) error {
	view := m.server.State().View()
	switch host := view.Host(hostID); {
	case view.Removed(hostID):
		return spec.Removed(hostID)
	case host == nil:
		return fmt.Errorf("host %s: %w", hostID, spec.ErrNotFound)
	case host.Lost():
		return fmt.Errorf("host %s was marked lost at %s and has to join again: %w", hostID, host.LostAt.Format(time.RFC3339), spec.ErrNotFound)
	}
	return nil
}

// Record notes that a host was heard of now.
func (m *Monitor) Record(hostID string) { m.table.record(hostID, m.server.Now()) }

// StartTerm begins the lease that a new leader grants every host; leaderless is for how long nothing was heard of the
// leader before.
func (m *Monitor) StartTerm(leaderless time.Duration) {
	m.table.startTerm(m.server.Now(), leaderless, m.missedAfter())
}

// LeaderFailed notes that the leader could not be reached.
func (m *Monitor) LeaderFailed() { m.forwarding.leaderFailed() }

// LeaderAnswered notes that the leader was reached.
func (m *Monitor) LeaderAnswered() { m.forwarding.leaderAnswered() }

// LeaderUnreachable reports whether this server has reached no leader for so long that its hosts choose another one. The leader itself never is, whatever
// it failed to reach before it was elected.
func (m *Monitor) LeaderUnreachable() bool { return !m.server.Leads() && m.forwarding.isCutOff() }

// missedAfter is the silence after which a host gets no new tasks: two heartbeats are missing then.
func (m *Monitor) missedAfter() time.Duration { return m.disconnectedAfter * 11 / 20 }

// Connected reports whether the pool has the host, has not given it up, and heard of it lately. Only the leader knows.
func (m *Monitor) Connected(hostID string) bool {
	host := m.server.State().View().Host(hostID)
	return m.server.Leads() && host != nil && !host.Lost() && m.Heard(hostID)
}

// ConnectedAddress is the address of a host of the pool, empty unless it is connected.
func (m *Monitor) ConnectedAddress(hostID string) string {
	host := m.server.State().View().Host(hostID)
	if host == nil || !m.Connected(hostID) {
		return ""
	}
	return host.Address
}

// ConnectedHosts are the ids of the hosts that are connected.
func (m *Monitor) ConnectedHosts() (ids []string) {
	for _, h := range m.server.State().View().Hosts("") {
		if m.Connected(h.ID) {
			ids = append(ids, h.ID)
		}
	}
	return ids
}

// Heard reports whether the leader has heard of the host lately.
func (m *Monitor) Heard(hostID string) bool { return m.Silence(hostID) < m.disconnectedAfter }

// Silence is for how long nothing was heard of the host, at most since this server leads.
func (m *Monitor) Silence(hostID string) time.Duration {
	return m.table.silence(hostID, m.server.Now())
}

// Schedulable reports whether new tasks may be placed on the host: it is connected and has not missed two heartbeats. A
// host that only an earlier leader has heard of has missed none.
func (m *Monitor) Schedulable(hostID string) bool {
	silence, missed := m.table.silenceAndLastHeartbeat(hostID, m.server.Now())
	return silence < m.disconnectedAfter && missed < m.missedAfter()
}
