package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Roles is the role of each host, by id. This server leads.
func (s *Servers) Roles(ctx context.Context) (map[string]string, error) {
	if err := s.consensus.CheckLeader(ctx); err != nil {
		return nil, err
	}
	configured, roles := s.Configured(), make(map[string]string)
	for _, host := range s.view().Hosts("") {
		role := s.stateOf(host.ID, configured).Role()
		if host.ID == s.hostID {
			role = RoleLeader
		}
		roles[host.ID] = string(role)
	}
	return roles, nil
}

// raftRemoveTimeout is how long a host that is removed may take to leave Raft.
const raftRemoveTimeout = 10 * time.Second

// RemoveHost ends a host's membership for ever. A server leaves Raft's configuration first. spec.ErrInUse while it has
// tasks, unless force, and for the only host; spec.ErrNotFound; spec.ErrUnavailable while the remaining servers have no
// majority without it. The leader first transfers its leadership, which is spec.ErrUnavailable: the same call succeeds a
// moment later.
func (s *Servers) RemoveHost(ctx context.Context, id string, force bool) error {
	if err := s.consensus.CheckLeader(ctx); err != nil {
		return err
	}
	if live := liveTasksOn(s.view(), id); live > 0 && !force {
		return fmt.Errorf("host %s: %w: it still has tasks (%d): drain it first, or use force", id, spec.ErrInUse, live)
	}
	ctx, cancel := context.WithTimeout(ctx, raftRemoveTimeout)
	defer cancel()
	if err := s.removeRaftServer(ctx, id); err != nil {
		return err
	}
	_, err := s.consensus.Propose(ctx, raftfsm.RemoveHost{ID: id, Force: force, At: s.consensus.Now()})
	return err
}

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
func (s *Servers) removeRaftServer(ctx context.Context, id string) error {
	if err := s.checkQuorumWithout(ctx, id); err != nil {
		return err
	}
	if host := s.view().Host(id); host != nil && host.Server && id != s.hostID {
		if _, err := s.consensus.Propose(ctx, raftfsm.SetServerRole{ID: id}); err != nil {
			return err
		}
	}
	if _, is := s.Configured()[raft.ServerID(id)]; !is {
		return nil
	}
	if id == s.hostID {
		return s.demoteSelf(ctx)
	}
	if err := s.consensus.Raft().RemoveServer(raft.ServerID(id), 0, raftRemoveTimeout).Error(); err != nil {
		return fmt.Errorf("take host %s out of the servers: %w", id, raftError(err))
	}
	return nil
}

// demoteSelf records another host as a server in this one's place and transfers the leadership to it. Without the record, a
// pool that wants one server less would transfer the leadership straight back. A host without a vote gets one first.
func (s *Servers) demoteSelf(ctx context.Context) error {
	next := s.replacement()
	if next == nil {
		return s.transferLeadership("it is removed")
	}
	if err := recordReplacement(ctx, s, next.ID); err != nil {
		return err
	}
	if !s.isVoter(next.ID) {
		return spec.Unavailable(fmt.Sprintf("host %s becomes a server in the place of %s, which is removed; try again in a moment", next.ID, s.hostID))
	}
	return s.transferLeadership("it is removed")
}

// recordReplacement records that a host is a server in the place of the one here.
func recordReplacement(ctx context.Context, s *Servers, next string) error {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	for _, change := range []raftfsm.SetServerRole{{ID: next, Server: true}, {ID: s.hostID}} {
		if host := s.view().Host(change.ID); host == nil || host.Server == change.Server {
			continue
		}
		if _, err := s.consensus.Propose(ctx, change); err != nil {
			return err
		}
	}
	return nil
}

// replacement is the host that takes this server's place: a voter, or else the oldest connected host that is not drained;
// nil when there is none.
func (s *Servers) replacement() *spec.Host {
	var agent *spec.Host
	for _, host := range s.view().Hosts("") {
		switch {
		case host.ID == s.hostID || !s.liveness.Connected(host.ID) || host.Lost():
		case s.isVoter(host.ID):
			return host
		case host.Status != spec.HostDraining && !isAgentOnly(s.view(), host.ID) && (agent == nil || host.RegisteredAt.Before(agent.RegisteredAt)):
			agent = host
		}
	}
	return agent
}

// transferLeadership transfers the leadership to another server. The result is always an error: the call is for that server.
func (s *Servers) transferLeadership(why string) error {
	if s.isSoleVoter() {
		return fmt.Errorf("host %s: %w: it is the pool's only server, and the pool's state is on no other host", s.hostID, spec.ErrInUse)
	}
	if err := s.consensus.Raft().LeadershipTransfer().Error(); err != nil {
		return fmt.Errorf("%w (the leadership could not be given to another server: %w)", spec.ErrNotLeader, err)
	}
	return fmt.Errorf("%w (the leadership went to another server, because %s)", spec.ErrNotLeader, why)
}

// TransferOnShutdown transfers the leadership before this server ends, so that the pool needs no election timeout. It takes a
// second at most; a failure is only logged.
func (s *Servers) TransferOnShutdown() {
	if s.consensus.Raft().State() != raft.Leader || s.isSoleVoter() {
		return
	}
	given := make(chan struct{})
	go func() {
		defer close(given)
		if err := s.consensus.Raft().LeadershipTransfer().Error(); err != nil {
			s.log.Debug("leadership transfer failed", "error", err)
		}
	}()
	select {
	case <-given:
	case <-time.After(time.Second):
	}
}

// raftError says what an error of Raft means for the change that it answers.
func raftError(err error) error {
	if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipTransferInProgress) {
		return fmt.Errorf("%w (%w)", spec.ErrNotLeader, err)
	}
	return fmt.Errorf("%w (%w)", spec.ErrOutcomeUnknown, err)
}
