package dispatch

import (
	"fmt"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

// Hosts choose their server at random, and stay. When servers go and come back one after the other, as in an upgrade, all
// hosts are with the one that went first. So a server that has more than twice its share of the sessions ends some of
// them, slowly: each of these hosts chooses anew, and reports first as always.

const (
	// moveInterval is the time between two hosts that a server moves.
	moveInterval = time.Second
	// sessionSlack is how many hosts more than twice its share a server keeps: in a small pool it does not matter.
	sessionSlack = 8
)

// errRebalance ends the session of a host that is moved.
var errRebalance = fmt.Errorf("this server has more than its share of the hosts: choose another: %w", spec.ErrUnavailable)

// sessionBalancer counts the sessions of this server. The zero value is ready.
type sessionBalancer struct {
	mu        sync.Mutex
	sessions  int
	checkedAt time.Time
}

func (b *sessionBalancer) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions += n
}

func (b *sessionBalancer) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions
}

// shouldMove reports whether the host that is heard of now is moved: one host in each moveInterval at most, while there
// are more sessions than limit says.
func (b *sessionBalancer) shouldMove(now time.Time, limit func() int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.checkedAt) < moveInterval {
		return false
	}
	b.checkedAt = now
	return b.sessions > limit()
}

// sessionLimit is how many of the pool's hosts one of its servers keeps.
func sessionLimit(hosts, servers int) int {
	return 2*hosts/max(servers, 1) + sessionSlack
}
