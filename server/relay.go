package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

const (
	// relayPeriod is how often a server that does not lead tells the leader which hosts it has heard of.
	relayPeriod = 500 * time.Millisecond
	// relayPatience is how long a server keeps its hosts while it reaches no leader. It outlasts an election. After it
	// the hosts are told to look for another server, which may have more luck.
	relayPatience = 5 * time.Second
)

// relay is what a server that does not lead remembers of the leader: which of its hosts the leader does not know, and
// since when it reaches none. The zero value is ready.
type relay struct {
	mu      sync.Mutex
	unknown map[string]bool
	failing time.Time // zero while the leader answers
}

// admit says of a host that beats whether it has to go elsewhere, or join again.
func (r *relay) admit(host string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unknown[host] {
		delete(r.unknown, host)
		return fmt.Errorf("host %s: %w", host, spec.ErrNotFound)
	}
	if !r.failing.IsZero() && time.Since(r.failing) > relayPatience {
		return fmt.Errorf("%w (no leader was reached for %s)", ErrNotLeader, relayPatience)
	}
	return nil
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
// Ages go with them, because no two hosts' clocks are compared: how many milliseconds ago each host was heard of.
type (
	alive struct {
		Hosts []string
		Ages  []int64
	}
	strange struct{ Hosts []string }
)

// passBeats tells the leader which hosts live, twice a second, while this server does not lead.
func (s *Server) passBeats() {
	tick := time.NewTicker(relayPeriod)
	defer tick.Stop()
	var told time.Time // the leader knows what was heard before
	for {
		select {
		case <-tick.C:
		case <-s.closing:
			return
		case <-s.done:
			return
		}
		if s.cfg.calls != nil && s.term.Load() == nil {
			told = s.passBeatsOnce(told)
		}
	}
}

// passBeatsOnce tells the leader what was heard since told, and returns since when the next time.
func (s *Server) passBeatsOnce(told time.Time) time.Time {
	now := s.cfg.Now()
	heard := s.beats.after(told, now)
	address, self := s.Leader()
	if len(heard.Hosts) == 0 || self {
		return told
	}
	if address == "" {
		s.relay.failed()
		return told
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*relayPeriod)
	defer cancel()
	ctx, answered := whileLeads(ctx, address, s.knownLeader)
	defer answered()
	var answer strange
	if err := s.cfg.calls.post(ctx, address, pathBeats, heard, &answer); err != nil {
		s.log.Debug("cannot tell the leader which hosts live", "leader", address, "error", err)
		s.relay.failed()
		return told
	}
	s.relay.told(answer.Hosts)
	return now
}

// hearBeats is the leader's side of passBeats. Beats without an age are new.
func (s *Server) hearBeats(a alive) (strange, error) {
	if _, err := s.leading(); err != nil {
		return strange{}, err
	}
	now := s.cfg.Now()
	var unknown strange
	for i, host := range a.Hosts {
		if s.known(host) != nil {
			unknown.Hosts = append(unknown.Hosts, host)
			continue
		}
		at := now
		if i < len(a.Ages) {
			at = now.Add(-max(0, time.Duration(a.Ages[i])*time.Millisecond))
		}
		s.beats.heard(host, at)
	}
	return unknown, nil
}
