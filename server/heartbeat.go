package server

import (
	"context"
	"fmt"
	"time"

	"pinion/raftfsm/spec"
)

// Heartbeat says that the host lives. raftfsm.ErrNotFound when the pool does not know the host, or has given it up: it
// must join first. A server that does not lead passes it on with those of its other hosts; an error that wraps
// raftfsm.ErrUnavailable then says that the host had better find another server.
func (s *Server) Heartbeat(_ context.Context, hostID string) error {
	if s.leaderTerm.Load() == nil && s.cfg.peers == nil {
		_, err := s.requireLeader()
		return err
	}
	if err := s.checkKnown(hostID); err != nil {
		return err
	}
	if s.leaderTerm.Load() == nil {
		if err := s.forwarder.check(hostID); err != nil {
			return err
		}
	}
	s.heartbeats.record(hostID, s.cfg.Now())
	return nil
}

func (s *Server) checkKnown(hostID string) error {
	view := s.state.View()
	switch host := view.Host(hostID); {
	case view.Removed(hostID):
		return fmt.Errorf("host %s: %w", hostID, spec.ErrRemoved)
	case host == nil:
		return fmt.Errorf("host %s: %w", hostID, spec.ErrNotFound)
	case host.Lost():
		return fmt.Errorf("host %s was given up at %s and has to join again: %w", hostID, host.LostAt.Format(time.RFC3339), spec.ErrNotFound)
	}
	return nil
}

// fastFailover is the longest time between two leaders during which hosts certainly keep their way to the pool, or are
// about to find another: a session notices within serverSilence that its server is gone.
const fastFailover = 2 * time.Second

// grantLeases begins the lease that a new leader grants every host. It counts from when this server last heard from the leader
// before: whatever happened to a host together with that leader is seen no later than otherwise. After a longer time
// without a leader hosts first have to find the pool again, and the lease counts from now.
func (s *Server) grantLeases() {
	s.heartbeats.startTerm(s.cfg.Now(), time.Since(s.raft.LastContact()), s.cfg.missedHeartbeatsAfter())
}

// startTerm is grant, with how long ago the leader before was heard of. A host that beat here shortly before that was
// with this server: what it misses is remembered.
func (b *heartbeatTable) startTerm(now time.Time, leaderless, missedAfter time.Duration) {
	if leaderless < fastFailover {
		now = now.Add(-leaderless)
	}
	b.resetLeases(now, now.Add(-missedAfter))
}

// missedHeartbeatsAfter is the silence after which a host gets no new tasks: two beats are missing then.
func (c Config) missedHeartbeatsAfter() time.Duration { return c.LostAfter * 11 / 20 }

// Connected reports whether the pool has the host, has not given it up, and heard of it within Config.LostAfter. Only the leader
// knows.
func (s *Server) Connected(hostID string) bool {
	t, host := s.leaderTerm.Load(), s.state.View().Host(hostID)
	return t != nil && host != nil && !host.Lost() && t.isConnected(s.cfg, hostID)
}

func (t *leaderTerm) isConnected(cfg Config, hostID string) bool {
	return t.heartbeats.silence(hostID, cfg.Now()) < cfg.LostAfter
}

// isSchedulable reports whether new tasks may be placed on the host: it is connected and has not missed two beats. Of a host
// that only an earlier leader has heard of nothing is missed.
func (t *leaderTerm) isSchedulable(cfg *Config, hostID string) bool {
	silence, missed := t.heartbeats.silenceAndMissed(hostID, cfg.Now())
	return silence < cfg.LostAfter && missed < cfg.missedHeartbeatsAfter()
}
