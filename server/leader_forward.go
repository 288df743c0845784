package server

import (
	"context"

	"github.com/hashicorp/raft"

	"pinion/server/rpc"
)

// watchLeader refreshes what this server knows of the leader when Raft hears of another one, or loses the one it had.
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
			s.leaderChanged()
		case <-s.life.Done():
			return
		}
	}
}

// leaderChanged is called after each change of what Leader says.
func (s *Server) leaderChanged() {
	s.leader.Refresh()
	if s.cfg.onLeader != nil {
		s.cfg.onLeader()
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

// callLeader does something on the leader: local when this server leads, remote when another one does. It repeats that
// when no leader has answered (see rpc.LeaderTracker.Call), so both must be harmless to repeat.
func (s *Server) callLeader(ctx context.Context, local func(*leaderTerm) error, remote func(ctx context.Context, address string) error) error {
	if s.cfg.peers == nil {
		t, err := s.requireLeader()
		if err != nil {
			return s.preferDiskFull(err)
		}
		return local(t)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.life, func() { cancel(s.ended()) })()
	return s.leader.Call(ctx, func(ctx context.Context, address string, _ bool) (again bool, err error) {
		if t := s.leaderTerm.Load(); t != nil {
			err = local(t)
		} else {
			err = s.callRemoteLeader(ctx, address, remote)
		}
		return rpc.Repeatable(err), err
	})
}

// callRemoteLeader calls another host, and remembers whether it was reached.
func (s *Server) callRemoteLeader(ctx context.Context, address string, remote func(ctx context.Context, address string) error) error {
	ctx, release := s.leader.While(ctx, address)
	defer release()
	err := remote(ctx, address)
	if rpc.Repeatable(err) {
		s.liveness.LeaderFailed()
	} else {
		s.liveness.LeaderAnswered()
	}
	return err
}
