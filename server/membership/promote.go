package membership

import (
	"context"
	"fmt"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Promote makes a host a server, in the place of the youngest other one when the pool has all it wants. It returns when
// that is recorded; the rest follows by itself. spec.ErrNotFound; spec.ErrInUse when the pool is too
// small for another server.
func (s *Servers) Promote(ctx context.Context, id string) error {
	return s.swapRole(ctx, id, true)
}

// Demote makes a server an agent, and another host a server in its place. spec.ErrInUse when no host could be.
func (s *Servers) Demote(ctx context.Context, id string) error {
	return s.swapRole(ctx, id, false)
}

func (s *Servers) swapRole(ctx context.Context, id string, promote bool) error {
	if err := s.consensus.CheckLeader(ctx); err != nil {
		return err
	}
	s.choosing.Lock()
	defer s.choosing.Unlock()
	view := s.view()
	all := s.candidates(view, view.Hosts(""))
	host := findCandidate(all, func(c candidate) bool { return c.host.ID == id })
	if host == nil {
		return fmt.Errorf("host %q: %w", id, spec.ErrNotFound)
	}
	if host.host.Server == promote {
		return nil
	}
	if promote && host.agent {
		return fmt.Errorf("host %s: %w: it joined with a token for agents, which never become servers: to have it as one, join it again with another token", host.host.Name, spec.ErrInUse)
	}
	if promote && (!host.alive || !s.hasNoRaftState(ctx, host.host)) {
		return fmt.Errorf("host %s: %w: it cannot be reached, or has not wiped the log of an earlier time yet; try again", host.host.Name, spec.ErrUnavailable)
	}
	other := s.swapCandidate(ctx, all, promote)
	if other == nil {
		return errNoSwapCandidate(host.host.Name, promote)
	}
	for _, change := range []*spec.Host{host.host, other.host} {
		if _, err := s.consensus.Propose(ctx, raftfsm.SetServerRole{ID: change.ID, Server: !change.Server}); err != nil {
			return err
		}
	}
	return nil
}

// swapCandidate is the host that changes its role in exchange: for a promotion the youngest server that does not lead, for
// a demotion the oldest host that can become a server.
func (s *Servers) swapCandidate(ctx context.Context, all []candidate, promote bool) *candidate {
	var best *candidate
	for i := range all {
		c := &all[i]
		if c.host.Server != promote || promote && c.self || !promote && (!c.alive || c.agent || !s.hasNoRaftState(ctx, c.host)) {
			continue
		}
		if best == nil || promote == (bySeniority(*c, *best) > 0) {
			best = c
		}
	}
	return best
}

func errNoSwapCandidate(name string, promote bool) error {
	if promote {
		return fmt.Errorf("host %s: %w: the pool has one server, and two would be less safe than one: join a third host, the servers follow by themselves", name, spec.ErrInUse)
	}
	return fmt.Errorf("host %s: %w: no other host can take its place as a server: join one first", name, spec.ErrInUse)
}

func findCandidate(all []candidate, is func(candidate) bool) *candidate {
	for i := range all {
		if is(all[i]) {
			return &all[i]
		}
	}
	return nil
}
