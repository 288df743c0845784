package server

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// reconcileInterval is how often the leader looks whether the pool has the servers that it ought to have.
const reconcileInterval = 500 * time.Millisecond

// statsTimeout is how long a host may take to say whether it has a Raft.
const statsTimeout = time.Second

// reconcileServersLoop is the leader's care for the pool's servers. Three hands, each of which only does its part and does it again
// until it holds: wish decides which hosts ought to be servers (Host.Server), shape lets them into Raft's configuration
// without a vote and out of it, and autopilot (autopilot.go) gives and takes the votes in between. The hosts themselves
// follow the wish: they open Raft when they are wanted, and wipe it when they are neither wanted nor configured.
func (s *Server) reconcileServersLoop(t *leaderTerm) {
	p := s.startAutopilot(t)
	defer func() { <-p.Stop() }()
	tick := time.NewTicker(reconcileInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		if err := errors.Join(s.chooseServers(t), s.reconcileRaftConfig(t.ctx)); err != nil && t.ctx.Err() == nil {
			s.log.Warn("the pool's servers are not as they ought to be, will try again", "error", err)
		}
	}
}

// candidate is a host as the choice of servers sees it.
type candidate struct {
	host   *spec.Host
	voter  bool
	self   bool
	alive  bool
	silent bool // silent for the pool's ReplaceAfter
}

// isDead reports whether the host is gone; whoever asks is not, whatever it has heard of itself.
func (c candidate) isDead() bool { return c.silent && !c.self }

// candidates are hosts of the view.
func (s *Server) candidates(t *leaderTerm, view *raftfsm.View, hosts []*spec.Host) []candidate {
	configured := s.raftServers()
	replaceAfter, level := view.Settings().ReplaceAfter, view.MinFeatureLevel()
	all := make([]candidate, 0, len(hosts))
	for _, host := range hosts {
		server, is := configured[raft.ServerID(host.ID)]
		all = append(all, candidate{
			host: host, self: host.ID == s.cfg.HostID, voter: is && server.Suffrage == raft.Voter,
			alive:  s.liveness.Heard(host.ID) && !host.Lost() && host.FeatureLevel >= level,
			silent: s.liveness.Silence(host.ID) >= replaceAfter,
		})
	}
	return all
}

// chooseServers records which hosts ought to be servers when that has changed.
func (s *Server) chooseServers(t *leaderTerm) error {
	view := s.state.View()
	seats, limit := s.candidates(t, view, view.Servers()), view.Settings().Servers
	if len(seats) == limit && !slices.ContainsFunc(seats, candidate.isDead) {
		return nil // nobody else is needed, and there may be many of them
	}
	want, drop := selectServers(s.candidates(t, view, view.Hosts("")), limit)
	for _, c := range want {
		if !c.voter && !s.hasNoRaftState(t.ctx, c.host) {
			return nil // it still has a log of an earlier time: it wipes that first
		}
	}
	for _, c := range slices.Concat(drop, want) {
		wanted := !c.host.Server
		if _, err := s.propose(t.ctx, raftfsm.SetServerRole{ID: c.host.ID, Server: wanted}); err != nil {
			return err
		}
		s.log.Info("the pool's servers change", "host", c.host.Name, "id", c.host.ID, "server", wanted)
	}
	return nil
}

// hasNoRaftState reports whether the host answers, and has no Raft that remembers anything.
func (s *Server) hasNoRaftState(ctx context.Context, host *spec.Host) bool {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	stats, err := s.fetchRaftStats(ctx, host.ID)
	return err == nil && !stats.Running
}

// selectServers says which hosts become servers and which stop being so, such that the number of servers is odd and at most
// limit. Hosts that are servers stay so while they are not gone for good; the oldest of the others come first. A server
// that is gone stays too as long as nobody can take its place: its vote may come back, and two copies are better than
// one.
func selectServers(all []candidate, limit int) (want, drop []candidate) {
	var servers, dead, spares []candidate
	for _, c := range all {
		switch {
		case c.host.Server && c.isDead():
			dead = append(dead, c)
		case c.host.Server:
			servers = append(servers, c)
		case c.alive && c.host.Status != spec.HostDraining:
			spares = append(spares, c)
		}
	}
	slices.SortStableFunc(spares, bySeniority)
	for len(dead) > 0 && len(spares) > 0 && len(servers)+len(dead) <= limit {
		want, drop = append(want, spares[0]), append(drop, dead[0])
		spares, dead, servers = spares[1:], dead[1:], append(servers, spares[0])
	}
	if len(want) > 0 {
		return want, drop
	}
	have := len(servers) + len(dead)
	target := largestOdd(min(limit, have+len(spares)))
	for ; have < target && len(spares) > 0; have++ { // nobody has a seat yet, and nobody is heard of either
		want, spares = append(want, spares[0]), spares[1:]
	}
	slices.SortStableFunc(servers, bySeniority)
	for ; have > target; have-- {
		if len(dead) > 0 {
			drop, dead = append(drop, dead[0]), dead[1:]
			continue
		}
		last := len(servers) - 1
		drop, servers = append(drop, servers[last]), servers[:last]
	}
	return want, drop
}

// bySeniority puts the leader first, then those that have a vote, then the oldest.
func bySeniority(a, b candidate) int {
	switch {
	case a.self != b.self:
		return trueFirst(a.self)
	case a.voter != b.voter:
		return trueFirst(a.voter)
	}
	return a.host.RegisteredAt.Compare(b.host.RegisteredAt)
}

func trueFirst(a bool) int {
	if a {
		return -1
	}
	return 1
}

// largestOdd is the largest odd number up to n, at least 1.
func largestOdd(n int) int { return max(1, n-(n+1)%2) }

// reconcileRaftConfig brings Raft's configuration closer to the wish: wanted hosts that have opened Raft come in without a vote, hosts
// without a vote that are not wanted go, and servers that have moved get their new address.
func (s *Server) reconcileRaftConfig(ctx context.Context) error {
	view, configured := s.state.View(), s.raftServers()
	for id, server := range configured {
		host := view.Host(string(id))
		switch {
		case (host == nil || !host.Server) && server.Suffrage != raft.Voter:
			if err := s.raft.RemoveServer(id, 0, 0).Error(); err != nil {
				return err
			}
		case host != nil && host.Address != string(server.Address):
			if err := s.updateAddress(server, host.Address); err != nil {
				return err
			}
		}
	}
	for _, host := range view.Servers() {
		if _, is := configured[raft.ServerID(host.ID)]; is || !s.isRaftRunning(ctx, host) {
			continue
		}
		if err := s.raft.AddNonvoter(raft.ServerID(host.ID), raft.ServerAddress(host.Address), 0, 0).Error(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) updateAddress(server raft.Server, address string) error {
	s.log.Info("a server has moved", "id", server.ID, "from", server.Address, "to", address)
	if server.Suffrage == raft.Voter {
		return s.raft.AddVoter(server.ID, raft.ServerAddress(address), 0, 0).Error()
	}
	return s.raft.AddNonvoter(server.ID, raft.ServerAddress(address), 0, 0).Error()
}

func (s *Server) isRaftRunning(ctx context.Context, host *spec.Host) bool {
	ctx, cancel := context.WithTimeout(ctx, statsTimeout)
	defer cancel()
	stats, err := s.fetchRaftStats(ctx, host.ID)
	return err == nil && stats.Running
}
