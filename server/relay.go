package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pinion/raftfsm"
)

const (
	// relayPeriod is how often a server that does not lead tells the leader which hosts it has heard of.
	relayPeriod = 500 * time.Millisecond
	// relayPatience is how long a server keeps its hosts while it reaches no leader. It outlasts an election. After it
	// the hosts are told to look for another server, which may have more luck.
	relayPatience = 5 * time.Second
)

// relay is the memory of a server that does not lead: which hosts it has heard of since it last told the leader, which
// of its hosts the leader does not know, and since when it reaches none. The zero value is ready.
type relay struct {
	mu      sync.Mutex
	heard   map[string]bool
	unknown map[string]bool
	failing time.Time // zero while the leader answers
}

// beat notes that a host lives; the error says that the host has to go elsewhere, or join again.
func (r *relay) beat(host string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unknown[host] {
		delete(r.unknown, host)
		return fmt.Errorf("host %s: %w", host, raftfsm.ErrNotFound)
	}
	if !r.failing.IsZero() && time.Since(r.failing) > relayPatience {
		return fmt.Errorf("%w (no leader was reached for %s)", ErrNotLeader, relayPatience)
	}
	if r.heard == nil {
		r.heard = make(map[string]bool)
	}
	r.heard[host] = true
	return nil
}

// take empties the memory of hosts that were heard of.
func (r *relay) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	hosts := make([]string, 0, len(r.heard))
	for host := range r.heard {
		hosts = append(hosts, host)
	}
	r.heard = nil
	return hosts
}

// told takes in the leader's answer.
func (r *relay) told(unknown []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = time.Time{}
	r.unknown = make(map[string]bool)
	for _, host := range unknown {
		r.unknown[host] = true
	}
}

func (r *relay) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing.IsZero() {
		r.failing = time.Now()
	}
}

func (r *relay) worked() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = time.Time{}
}

// stuck reports whether no leader was reached for as long as a host would wait.
func (r *relay) stuck() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.failing.IsZero() && time.Since(r.failing) > relayPatience
}

// beats between servers: the hosts that are alive, answered by those that the leader does not know (or has given up).
type (
	alive   struct{ Hosts []string }
	strange struct{ Hosts []string }
)

// passBeats tells the leader which hosts live, twice a second, while this server does not lead.
func (s *Server) passBeats() {
	tick := time.NewTicker(relayPeriod)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-s.closing:
			return
		case <-s.done:
			return
		}
		if s.cfg.calls != nil && s.term.Load() == nil {
			s.passBeatsOnce()
		}
	}
}

func (s *Server) passBeatsOnce() {
	hosts := s.relay.take()
	address, self := s.Leader()
	if len(hosts) == 0 || self {
		return
	}
	if address == "" {
		s.relay.failed()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*relayPeriod)
	defer cancel()
	var answer strange
	if err := s.cfg.calls.post(ctx, address, pathBeats, alive{hosts}, &answer); err != nil {
		s.log.Debug("cannot tell the leader which hosts live", "leader", address, "error", err)
		s.relay.failed()
		return
	}
	s.relay.told(answer.Hosts)
}

// hearBeats is the leader's side of passBeats.
func (s *Server) hearBeats(hosts []string) (strange, error) {
	var unknown strange
	for _, host := range hosts {
		err := s.heartbeatHere(host)
		switch {
		case errors.Is(err, raftfsm.ErrNotFound):
			unknown.Hosts = append(unknown.Hosts, host)
		case err != nil:
			return strange{}, err
		}
	}
	return unknown, nil
}
