package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

const (
	// forwardInterval is how often a server that does not lead tells the leader which hosts it has heard of.
	forwardInterval = 500 * time.Millisecond
	// leaderlessTimeout is how long a server keeps its hosts while it reaches no leader. It outlasts an election. After it
	// the hosts are told to look for another server, which may have more luck.
	leaderlessTimeout = 5 * time.Second
)

// heartbeatForwarder is what a server that does not lead remembers of the leader: which of its hosts the leader does not know, and
// since when it reaches none. The zero value is ready.
type heartbeatForwarder struct {
	mu           sync.Mutex
	unknown      map[string]bool
	failingSince time.Time // zero while the leader answers
}

// check says of a host that beats whether it has to go elsewhere, or join again.
func (r *heartbeatForwarder) check(host string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unknown[host] {
		delete(r.unknown, host)
		return fmt.Errorf("host %s: %w", host, spec.ErrNotFound)
	}
	if !r.failingSince.IsZero() && time.Since(r.failingSince) > leaderlessTimeout {
		return fmt.Errorf("%w (no leader was reached for %s)", ErrNotLeader, leaderlessTimeout)
	}
	return nil
}

// acknowledge takes in the leader's answer.
func (r *heartbeatForwarder) acknowledge(unknown []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failingSince = time.Time{}
	r.unknown = make(map[string]bool)
	for _, host := range unknown {
		r.unknown[host] = true
	}
}

func (r *heartbeatForwarder) leaderFailed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failingSince.IsZero() {
		r.failingSince = time.Now()
	}
}

func (r *heartbeatForwarder) leaderAnswered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failingSince = time.Time{}
}

// isCutOff reports whether no leader was reached for as long as a host would wait.
func (r *heartbeatForwarder) isCutOff() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.failingSince.IsZero() && time.Since(r.failingSince) > leaderlessTimeout
}

// beats between servers: the hosts that are alive, answered by those that the leader does not know (or has given up).
// Ages go with them, because no two hosts' clocks are compared: how many milliseconds ago each host was heard of.
type (
	heartbeatBatch struct {
		Hosts []string
		Ages  []int64
	}
	heartbeatReply struct{ Hosts []string }
)

// forwardHeartbeats tells the leader which hosts live, twice a second, while this server does not lead.
func (s *Server) forwardHeartbeats() {
	tick := time.NewTicker(forwardInterval)
	defer tick.Stop()
	var told time.Time // the leader knows what was heard before
	for {
		select {
		case <-tick.C:
		case <-s.life.Done():
			return
		}
		if s.cfg.peers != nil && s.leaderTerm.Load() == nil {
			told = s.forwardHeartbeatsOnce(told)
		}
	}
}

// forwardHeartbeatsOnce tells the leader what was heard since told, and returns since when the next time.
func (s *Server) forwardHeartbeatsOnce(told time.Time) time.Time {
	now := s.cfg.Now()
	heard := s.heartbeats.since(told, now)
	address, self := s.Leader()
	if address == "" {
		s.forwarder.leaderFailed()
		return told
	}
	if len(heard.Hosts) == 0 || self {
		return told
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*forwardInterval)
	defer cancel()
	ctx, release := s.leader.While(ctx, address)
	defer release()
	var answer heartbeatReply
	if err := s.cfg.peers.Call(ctx, address, pathHeartbeats, heard, &answer); err != nil {
		s.log.Debug("cannot tell the leader which hosts live", "leader", address, "error", err)
		s.forwarder.leaderFailed()
		return told
	}
	s.forwarder.acknowledge(answer.Hosts)
	return now
}

// recordHeartbeats is the leader's side of passBeats. Beats without an age are new.
func (s *Server) recordHeartbeats(a heartbeatBatch) (heartbeatReply, error) {
	if _, err := s.requireLeader(); err != nil {
		return heartbeatReply{}, err
	}
	now := s.cfg.Now()
	var unknown heartbeatReply
	for i, host := range a.Hosts {
		if s.checkKnown(host) != nil {
			unknown.Hosts = append(unknown.Hosts, host)
			continue
		}
		at := now
		if i < len(a.Ages) {
			at = now.Add(-max(0, time.Duration(a.Ages[i])*time.Millisecond))
		}
		s.heartbeats.record(host, at)
	}
	return unknown, nil
}
