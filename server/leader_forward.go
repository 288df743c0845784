package server

import (
	"context"
	"errors"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
)

const (
	// leaderTimeout is how long a call waits for a leader that can answer it.
	leaderTimeout = 5 * time.Second
	// leaderBackoff is between two tries when nothing has been heard of another leader.
	leaderBackoff = 100 * time.Millisecond
)

// watchLeader makes s.moved fire when Raft hears of another leader, or loses the one it had.
func (s *Server) watchLeader() {
	seen := make(chan raft.Observation, 16)
	observer := raft.NewObserver(seen, false, func(o *raft.Observation) bool {
		_, leader := o.Data.(raft.LeaderObservation)
		return leader
	})
	s.raft.RegisterObserver(observer)
	defer s.raft.DeregisterObserver(observer)
	for {
		select {
		case <-seen:
			s.leaderChanged.Notify()
		case <-s.life.Done():
			return
		}
	}
}

// Leader is the address of the leader as far as this server knows now, empty while it knows of none, and whether it is
// this server, ready to answer.
func (s *Server) Leader() (address string, self bool) {
	if s.leaderTerm.Load() != nil {
		return s.cfg.Address, true
	}
	leader, id := s.raft.LeaderWithID()
	if id == raft.ServerID(s.cfg.HostID) {
		return "", false // its term has not begun
	}
	return string(leader), false
}

// callLeader does something on the leader: here when this server leads, there when another one does. While the pool has
// no leader it waits, and it tries again when nobody answered, so both must be harmless to repeat.
func (s *Server) callLeader(ctx context.Context, local func(*leaderTerm) error, remote func(ctx context.Context, address string) error) error {
	if s.cfg.peers == nil {
		t, err := s.requireLeader()
		if err != nil {
			return s.preferDiskFull(err)
		}
		return local(t)
	}
	ctx, cancel := context.WithTimeout(ctx, leaderTimeout)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	for {
		moved := s.leaderChanged.Wait()
		err := s.callLeaderOnce(ctx, local, remote)
		if !errors.Is(err, spec.ErrUnavailable) || errors.Is(err, ErrReadOnly) || errors.Is(err, errClosed) {
			return err
		}
		select {
		case <-moved:
		case <-time.After(leaderBackoff):
		case <-ctx.Done():
			return err
		case <-s.life.Done():
			return s.ended()
		}
	}
}

func (s *Server) callLeaderOnce(ctx context.Context, local func(*leaderTerm) error, remote func(ctx context.Context, address string) error) error {
	if t := s.leaderTerm.Load(); t != nil {
		return local(t)
	}
	address, _ := s.Leader()
	if address == "" {
		s.forwarder.leaderFailed()
		return ErrNotLeader
	}
	ctx, answered := withLeader(ctx, address, s.knownLeader)
	err := remote(ctx, address)
	answered()
	if errors.Is(err, spec.ErrUnavailable) {
		s.forwarder.leaderFailed()
	} else {
		s.forwarder.leaderAnswered()
	}
	return err
}

func (s *Server) knownLeader() string {
	address, _ := s.Leader()
	return address
}

// leaderCheckInterval is how often a call to the leader looks whether another host leads meanwhile.
const leaderCheckInterval = 200 * time.Millisecond

var errLeaderChanged = errors.New("another host leads the pool now")

// withLeader is ctx for a call to the host at address, and ends when that host led at first and another one does before
// answered is called: one that is cut off does not answer, and is not known to be gone for seconds.
func withLeader(ctx context.Context, address string, leader func() string) (_ context.Context, answered func()) {
	if leader() != address {
		return ctx, func() {}
	}
	ctx, end := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(leaderCheckInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				if now := leader(); now != "" && now != address {
					end(errLeaderChanged)
					return
				}
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() { close(done) }
}
