package server

import (
	"fmt"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

// Hosts choose their server at random, and stay. When servers go and come back one after the other, as in an upgrade, all
// hosts are with the one that went first. So a server that has more than twice its share of them sends some away, slowly:
// each chooses anew, and reports first as always.

const (
	// moveInterval is the time between two hosts that a crowded server sends away.
	moveInterval = time.Second
	// sessionSlack is how many hosts more than twice its share a server keeps: in a small pool it does not matter who has them.
	sessionSlack = 8
)

// errRebalance ends the session of a host that is sent away.
var errRebalance = fmt.Errorf("this server has more than its share of the hosts: choose another: %w", spec.ErrUnavailable)

// sessionBalancer is the hosts that have a session with this server. The zero value is ready.
type sessionBalancer struct {
	mu        sync.Mutex
	sessions  int
	checkedAt time.Time
}

func (c *sessionBalancer) add() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions++
}

func (c *sessionBalancer) remove() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions--
}

// shouldMove reports whether the host that is heard of now has to go, which is asked for one host each sendAwayEvery at
// most: most says how many the server keeps.
func (c *sessionBalancer) shouldMove(now time.Time, limit func() int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.checkedAt) < moveInterval {
		return false
	}
	c.checkedAt = now
	return c.sessions > limit()
}

// sessionLimit is how many of the pool's hosts one of its servers keeps.
func sessionLimit(hosts, servers int) int {
	return 2*hosts/max(servers, 1) + sessionSlack
}

// maxSessions is mostSessions as this server sees its pool.
func (s *Server) maxSessions() int {
	voters := 1
	if seen := s.poolInfo.Load(); seen != nil { // nil for the first moment
		voters = len(seen.Servers)
	}
	return sessionLimit(len(s.state.View().Hosts("")), voters)
}
