package membership

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"pinion/packaging/failpoint"
	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// reconcileInterval is how often the leader looks whether the pool has the servers that it ought to have.
const reconcileInterval = 400 * time.Millisecond

// Reconcile makes the pool have the servers that it ought to have, while this server leads, until ctx ends. Three
// reconcilers each do their part until it holds, and every step is safe to repeat (see RoleState): chooseServers records
// which hosts ought to be servers (Host.Server), reconcileRaftConfig adds them to Raft's configuration without a vote and
// removes the others, and autopilot, which asks all servers how they are every second, gives and takes the votes in between while
// one is to be given or taken. The hosts themselves start Raft when they are wanted, and wipe it when they are neither wanted nor
// configured.
func (s *Servers) Reconcile(ctx context.Context) {
	votes := voteReconciler{servers: s}
	defer votes.stop()
	tick := tick.New(reconcileInterval)
	defer tick.Stop()
	for {
		votes.reconcile(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		if err := errors.Join(s.chooseServers(ctx), s.reconcileRaftConfig(ctx)); err != nil && ctx.Err() == nil {
			s.log.Warn("the pool's servers are not as they ought to be, will try again", "error", err)
		}
	}
}

// candidate is a host with what selectServers needs to know of it.
type candidate struct {
	host   *spec.Host
	voter  bool
	self   bool
	alive  bool
	absent bool // it is not alive now, but not given up either: it may be slow, or restarting
	silent bool // silent for the pool's ReplaceAfter
	agent  bool // it never becomes a server: its token was for agents
}

// isDead reports whether the host is gone for good. This host is not, whatever it has heard of itself.
func (c candidate) isDead() bool { return c.silent && !c.self }

// why says for what reason the role of the host changes.
func (c candidate) why() string {
	switch {
	case !c.host.Server:
		return "the pool has fewer servers than it wants"
	case c.isDead():
		return "nothing was heard of it for the time after which a server is replaced"
	}
	return "the pool has more servers than it wants, or an even number and no other host"
}

// candidates are hosts of the view.
func (s *Servers) candidates(view *raftfsm.View, hosts []*spec.Host) []candidate {
	configured := s.Configured()
	replaceAfter, level := view.Settings().ReplaceAfter, view.MinFeatureLevel()
	all := make([]candidate, 0, len(hosts))
	for _, host := range hosts {
		server, is := configured[raft.ServerID(host.ID)]
		fit, silent := !host.Lost() && host.FeatureLevel >= level, s.liveness.Silence(host.ID) >= replaceAfter
		heard := s.liveness.Heard(host.ID)
		all = append(all, candidate{
			host: host, self: host.ID == s.hostID, voter: is && server.Suffrage == raft.Voter,
			alive: fit && heard, absent: fit && !heard && !silent, silent: silent, agent: isAgentOnly(view, host.ID),
		})
	}
	return all
}

// isAgentOnly reports whether a host never becomes a server, because its token was for agents: whoever is root there gets nothing of the pool.
func isAgentOnly(view *raftfsm.View, hostID string) bool {
	admission := view.Admission(hostID)
	return admission != nil && admission.AgentOnly
}

// chooseServers records which hosts ought to be servers when that has changed.
func (s *Servers) chooseServers(ctx context.Context) error {
	s.choosing.Lock()
	defer s.choosing.Unlock()
	view := s.view()
	seats, limit := s.candidates(view, view.Servers()), view.Settings().Servers
	if len(seats) == limit && !slices.ContainsFunc(seats, candidate.isDead) {
		return nil // no other host is needed, and there may be many
	}
	want, drop := selectServers(s.candidates(view, view.Hosts("")), limit)
	for _, c := range want {
		if !c.voter && !s.hasNoRaftState(ctx, c.host) {
			return nil // it still has a log of an earlier role: it wipes that first
		}
	}
	for _, c := range slices.Concat(want, drop) { // a leader that ends halfway leaves one server more than wanted, not one less
		wanted := !c.host.Server
		if _, err := s.consensus.Propose(ctx, raftfsm.SetServerRole{ID: c.host.ID, Server: wanted}); err != nil {
			return err
		}
		failpoint.Reached(failpoint.RoleRecorded)
		s.log.Info("the pool's servers change", "host", c.host.Name, "hostId", c.host.ID, "isServer", wanted, "reason", c.why())
	}
	return nil
}

// reconcileRaftConfig brings Raft's configuration closer to what is recorded: wanted hosts on which Raft runs are added
// without a vote, hosts without a vote that are not wanted are removed, and servers that have moved get their new address.
func (s *Servers) reconcileRaftConfig(ctx context.Context) error {
	view, configured := s.view(), s.Configured()
	for id, server := range configured {
		host := view.Host(string(id))
		switch {
		case s.stateOf(string(id), configured).Next() == StepRemove:
			if err := s.consensus.Raft().RemoveServer(id, 0, 0).Error(); err != nil {
				return err
			}
			failpoint.Reached(failpoint.ServerRemoved)
		case host != nil && host.Address != string(server.Address):
			if err := s.updateAddress(server, host.Address); err != nil {
				return err
			}
		}
	}
	for _, host := range view.Servers() {
		state := s.stateOf(host.ID, configured)
		if state.Configured {
			continue
		}
		if state.Running = s.isRaftRunning(ctx, host); state.Next() != StepAdd {
			continue
		}
		if err := s.consensus.Raft().AddNonvoter(raft.ServerID(host.ID), raft.ServerAddress(host.Address), 0, 0).Error(); err != nil {
			return err
		}
		failpoint.Reached(failpoint.NonvoterAdded)
	}
	return nil
}

func (s *Servers) updateAddress(server raft.Server, address string) error {
	s.log.Info("a server has moved", "hostId", server.ID, "from", server.Address, "to", address)
	if server.Suffrage == raft.Voter {
		return s.consensus.Raft().AddVoter(server.ID, raft.ServerAddress(address), 0, 0).Error()
	}
	return s.consensus.Raft().AddNonvoter(server.ID, raft.ServerAddress(address), 0, 0).Error()
}
