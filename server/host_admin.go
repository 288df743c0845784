package server

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Roles of a host, for people.
const (
	RoleLeader  = "leader"
	RoleServer  = "server"
	RoleJoining = "joining" // it becomes a server
	RoleAgent   = "agent"
)

// Roles tells for each host id what it is.
func (m *Member) Roles(ctx context.Context) (map[string]string, error) {
	view, err := m.View(ctx)
	if err != nil {
		return nil, err
	}
	own := m.localServer()
	if own == nil {
		return nil, errNotServer
	}
	configured, roles := own.raftServers(), make(map[string]string)
	for _, host := range view.Hosts("") {
		server, is := configured[raft.ServerID(host.ID)]
		switch {
		case host.ID == m.cfg.HostID:
			roles[host.ID] = RoleLeader
		case is && server.Suffrage == raft.Voter:
			roles[host.ID] = RoleServer
		case host.Server:
			roles[host.ID] = RoleJoining
		default:
			roles[host.ID] = RoleAgent
		}
	}
	return roles, nil
}

// isServer reports whether the host is one of the pool's servers, or ought to be.
func (s *Server) isServer(hostID string) bool {
	if _, is := s.raftServers()[raft.ServerID(hostID)]; is {
		return true
	}
	host := s.state.View().Host(hostID)
	return host != nil && host.Server
}

// raftRemoveTimeout is how long a host that is removed may take to leave Raft.
const raftRemoveTimeout = 10 * time.Second

// RemoveHost ends a host's membership for ever. A server leaves Raft's configuration first. raftfsm.ErrInUse while it has
// tasks, unless force, and for the only host; raftfsm.ErrNotFound; raftfsm.ErrUnavailable while the servers that would be
// left cannot do without it. To remove the leader, its leadership goes to another
// server first: that is raftfsm.ErrUnavailable, and the same call succeeds a moment later.
func (m *Member) RemoveHost(ctx context.Context, id string, force bool) error {
	own, _, err := m.leadingServer()
	if err != nil {
		return err
	}
	view, err := own.View(ctx)
	if err != nil {
		return err
	}
	if live := liveTasksOn(view, id); live > 0 && !force {
		return fmt.Errorf("host %s: %w: it has %d tasks: drain it and stop them first, or use force", id, spec.ErrInUse, live)
	}
	ctx, cancel := context.WithTimeout(ctx, raftRemoveTimeout)
	defer cancel()
	if err := own.removeRaftServer(ctx, id); err != nil {
		return err
	}
	if _, err := own.Propose(ctx, raftfsm.RemoveHost{ID: id, Force: force, At: m.cfg.Now()}); err != nil {
		return err
	}
	// New connections of the host are refused from now on. Those that it has may be the way of this very answer: it is
	// given a moment.
	time.AfterFunc(disconnectGrace, func() { m.cfg.Port.CloseHost(id) })
	return nil
}

// disconnectGrace is how long a removed host keeps the connections it has.
const disconnectGrace = time.Second

func liveTasksOn(view *raftfsm.View, hostID string) int {
	live := 0
	for _, task := range view.TasksOn(hostID) {
		if task.LastStatus != spec.Stopped {
			live++
		}
	}
	return live
}

// removeRaftServer takes a server out of Raft's configuration.
func (s *Server) removeRaftServer(ctx context.Context, id string) error {
	if err := s.checkQuorumWithout(ctx, id); err != nil {
		return err
	}
	if host := s.state.View().Host(id); host != nil && host.Server && id != s.cfg.HostID {
		if _, err := s.propose(ctx, raftfsm.SetServerRole{ID: id}); err != nil {
			return err
		}
	}
	if _, is := s.raftServers()[raft.ServerID(id)]; !is {
		return nil
	}
	if id == s.cfg.HostID {
		return s.demoteSelf(ctx)
	}
	if err := s.raft.RemoveServer(raft.ServerID(id), 0, raftRemoveTimeout).Error(); err != nil {
		return fmt.Errorf("take host %s out of the servers: %w", id, s.mapRaftError(err))
	}
	return nil
}

// demoteSelf makes another host a wanted server in this one's place and gives it the leadership. Without the first, a pool
// that wants one server less would give the leadership straight back. A host that has no vote yet gets one first.
func (s *Server) demoteSelf(ctx context.Context) error {
	next := s.replacement()
	if next == nil {
		return s.transferLeadership("it is removed")
	}
	for _, change := range []raftfsm.SetServerRole{{ID: next.ID, Server: true}, {ID: s.cfg.HostID}} {
		if host := s.state.View().Host(change.ID); host == nil || host.Server == change.Server {
			continue
		}
		if _, err := s.propose(ctx, change); err != nil {
			return err
		}
	}
	if !s.isVoter(next.ID) {
		return spec.Unavailable(fmt.Sprintf("host %s becomes a server in the place of %s, which is removed; try again in a moment", next.ID, s.cfg.HostID))
	}
	return s.transferLeadership("it is removed")
}

// replacement is the host that takes this server's place: one that votes, or else the oldest that is alive and stays; nil when
// there is none.
func (s *Server) replacement() *spec.Host {
	var agent *spec.Host
	for _, host := range s.state.View().Hosts("") {
		switch {
		case host.ID == s.cfg.HostID || !s.Connected(host.ID) || host.Lost():
		case s.isVoter(host.ID):
			return host
		case host.Status != spec.HostDraining && (agent == nil || host.RegisteredAt.Before(agent.RegisteredAt)):
			agent = host
		}
	}
	return agent
}

// isVoter reports whether the host has a vote in Raft.
func (s *Server) isVoter(hostID string) bool {
	server, is := s.raftServers()[raft.ServerID(hostID)]
	return is && server.Suffrage == raft.Voter
}

// transferLeadership gives the leadership to another server. Its answer is always an error: what was asked for is for that server.
func (s *Server) transferLeadership(why string) error {
	if s.isSoleVoter() {
		return fmt.Errorf("host %s: %w: it is the pool's only server, and the pool's state is on no other host", s.cfg.HostID, spec.ErrInUse)
	}
	if err := s.raft.LeadershipTransfer().Error(); err != nil {
		return fmt.Errorf("%w (the leadership could not be given to another server: %w)", ErrNotLeader, err)
	}
	return fmt.Errorf("%w (the leadership went to another server, because %s)", ErrNotLeader, why)
}

// transferOnShutdown gives the leadership to another server before this one ends, so that the pool need not notice first. It takes
// a second at most, and whether it works out does not matter.
func (s *Server) transferOnShutdown() {
	if !s.Leads() || s.isSoleVoter() {
		return
	}
	given := make(chan struct{})
	go func() {
		defer close(given)
		if err := s.raft.LeadershipTransfer().Error(); err != nil {
			s.log.Debug("the leadership was not given to another server", "error", err)
		}
	}()
	select {
	case <-given:
	case <-time.After(time.Second):
	}
}
