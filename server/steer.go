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

// steerPeriod is how often the leader looks whether the pool has the servers that it ought to have.
const steerPeriod = 500 * time.Millisecond

// askTimeout is how long a host may take to say whether it has a Raft.
const askTimeout = time.Second

// steerLoop is the leader's care for the pool's servers. Three hands, each of which only does its part and does it again
// until it holds: wish decides which hosts ought to be servers (Host.Server), shape lets them into Raft's configuration
// without a vote and out of it, and autopilot (autopilot.go) gives and takes the votes in between. The hosts themselves
// follow the wish: they open Raft when they are wanted, and wipe it when they are neither wanted nor configured.
func (s *Server) steerLoop(t *term) {
	p := s.pilot(t)
	defer func() { <-p.Stop() }()
	tick := time.NewTicker(steerPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-t.ctx.Done():
			return
		}
		if err := errors.Join(s.wish(t), s.shape(t.ctx)); err != nil && t.ctx.Err() == nil {
			s.log.Warn("the pool's servers are not as they ought to be, will try again", "error", err)
		}
	}
}

// candidate is a host as the choice of servers sees it.
type candidate struct {
	host  *spec.Host
	voter bool
	self  bool
	alive bool
	gone  bool // silent for the pool's ReplaceAfter
}

// isAway reports whether the host is gone; whoever asks is not, whatever it has heard of itself.
func (c candidate) isAway() bool { return c.gone && !c.self }

// candidates are hosts of the view.
func (s *Server) candidates(t *term, view *raftfsm.View, hosts []*spec.Host) []candidate {
	now, configured := s.cfg.Now(), s.configured()
	replaceAfter, level := view.Settings().ReplaceAfter, view.MinFeature()
	all := make([]candidate, 0, len(hosts))
	for _, host := range hosts {
		server, is := configured[raft.ServerID(host.ID)]
		all = append(all, candidate{
			host: host, self: host.ID == s.cfg.HostID, voter: is && server.Suffrage == raft.Voter,
			alive: t.connected(s.cfg, host.ID) && !host.Lost() && host.FeatureLevel >= level,
			gone:  t.beats.silence(host.ID, now) >= replaceAfter,
		})
	}
	return all
}

// wish records which hosts ought to be servers when that has changed.
func (s *Server) wish(t *term) error {
	view := s.state.View()
	seats, limit := s.candidates(t, view, view.Servers()), view.Settings().Servers
	if len(seats) == limit && !slices.ContainsFunc(seats, candidate.isAway) {
		return nil // nobody else is needed, and there may be many of them
	}
	want, drop := choose(s.candidates(t, view, view.Hosts("")), limit)
	for _, c := range want {
		if !c.voter && !s.isBlank(t.ctx, c.host) {
			return nil // it still has a log of an earlier time: it wipes that first
		}
	}
	for _, c := range slices.Concat(drop, want) {
		wanted := !c.host.Server
		if _, err := s.record(t.ctx, raftfsm.SetServer{ID: c.host.ID, Server: wanted}); err != nil {
			return err
		}
		s.log.Info("the pool's servers change", "host", c.host.Name, "id", c.host.ID, "server", wanted)
	}
	return nil
}

// isBlank reports whether the host answers, and has no Raft that remembers anything.
func (s *Server) isBlank(ctx context.Context, host *spec.Host) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	stats, err := s.statsOf(ctx, host.ID, host.Address)
	return err == nil && !stats.Running
}

// choose says which hosts become servers and which stop being so, such that the number of servers is odd and at most
// limit. Hosts that are servers stay so while they are not gone for good; the oldest of the others come first. A server
// that is gone stays too as long as nobody can take its place: its vote may come back, and two copies are better than
// one.
func choose(all []candidate, limit int) (want, drop []candidate) {
	var seats, gone, spare []candidate
	for _, c := range all {
		switch {
		case c.host.Server && c.isAway():
			gone = append(gone, c)
		case c.host.Server:
			seats = append(seats, c)
		case c.alive && c.host.Status != spec.HostDraining:
			spare = append(spare, c)
		}
	}
	slices.SortStableFunc(spare, byRank)
	for len(gone) > 0 && len(spare) > 0 && len(seats)+len(gone) <= limit {
		want, drop = append(want, spare[0]), append(drop, gone[0])
		spare, gone, seats = spare[1:], gone[1:], append(seats, spare[0])
	}
	if len(want) > 0 {
		return want, drop
	}
	have := len(seats) + len(gone)
	target := odd(min(limit, have+len(spare)))
	for ; have < target && len(spare) > 0; have++ { // nobody has a seat yet, and nobody is heard of either
		want, spare = append(want, spare[0]), spare[1:]
	}
	slices.SortStableFunc(seats, byRank)
	for ; have > target; have-- {
		if len(gone) > 0 {
			drop, gone = append(drop, gone[0]), gone[1:]
			continue
		}
		last := len(seats) - 1
		drop, seats = append(drop, seats[last]), seats[:last]
	}
	return want, drop
}

// byRank puts the leader first, then those that have a vote, then the oldest.
func byRank(a, b candidate) int {
	switch {
	case a.self != b.self:
		return first(a.self)
	case a.voter != b.voter:
		return first(a.voter)
	}
	return a.host.RegisteredAt.Compare(b.host.RegisteredAt)
}

func first(a bool) int {
	if a {
		return -1
	}
	return 1
}

// odd is the largest odd number up to n, at least 1.
func odd(n int) int { return max(1, n-(n+1)%2) }

// shape brings Raft's configuration closer to the wish: wanted hosts that have opened Raft come in without a vote, hosts
// without a vote that are not wanted go, and servers that have moved get their new address.
func (s *Server) shape(ctx context.Context) error {
	view, configured := s.state.View(), s.configured()
	for id, server := range configured {
		host := view.Host(string(id))
		switch {
		case (host == nil || !host.Server) && server.Suffrage != raft.Voter:
			if err := s.raft.RemoveServer(id, 0, 0).Error(); err != nil {
				return err
			}
		case host != nil && host.Address != string(server.Address):
			if err := s.readdress(server, host.Address); err != nil {
				return err
			}
		}
	}
	for _, host := range view.Servers() {
		if _, is := configured[raft.ServerID(host.ID)]; is || !s.hasOpened(ctx, host) {
			continue
		}
		if err := s.raft.AddNonvoter(raft.ServerID(host.ID), raft.ServerAddress(host.Address), 0, 0).Error(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) readdress(server raft.Server, address string) error {
	s.log.Info("a server has moved", "id", server.ID, "from", server.Address, "to", address)
	if server.Suffrage == raft.Voter {
		return s.raft.AddVoter(server.ID, raft.ServerAddress(address), 0, 0).Error()
	}
	return s.raft.AddNonvoter(server.ID, raft.ServerAddress(address), 0, 0).Error()
}

func (s *Server) hasOpened(ctx context.Context, host *spec.Host) bool {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	stats, err := s.statsOf(ctx, host.ID, host.Address)
	return err == nil && stats.Running
}
