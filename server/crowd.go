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
	// sendAwayEvery is the time between two hosts that a crowded server sends away.
	sendAwayEvery = time.Second
	// crowdSlack is how many hosts more than twice its share a server keeps: in a small pool it does not matter who has them.
	crowdSlack = 8
)

// errCrowded ends the session of a host that is sent away.
var errCrowded = fmt.Errorf("this server has more than its share of the hosts: choose another: %w", spec.ErrUnavailable)

// crowd is the hosts that have a session with this server. The zero value is ready.
type crowd struct {
	mu       sync.Mutex
	sessions int
	looked   time.Time
}

func (c *crowd) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions++
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions--
}

// sendsAway reports whether the host that is heard of now has to go, which is asked for one host each sendAwayEvery at
// most: most says how many the server keeps.
func (c *crowd) sendsAway(now time.Time, most func() int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.looked) < sendAwayEvery {
		return false
	}
	c.looked = now
	return c.sessions > most()
}

// mostSessions is how many of the pool's hosts one of its servers keeps.
func mostSessions(hosts, servers int) int {
	return 2*hosts/max(servers, 1) + crowdSlack
}

// keeps is mostSessions as this server sees its pool.
func (s *Server) keeps() int {
	voters := 1
	if seen := s.outlook.Load(); seen != nil { // nil for the first moment
		voters = len(seen.Servers)
	}
	return mostSessions(len(s.state.View().Hosts("")), voters)
}
