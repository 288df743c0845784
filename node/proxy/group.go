package proxy

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"pinion/raftfsm/rendezvous"
	"pinion/raftfsm/traffic"
)

// group is a target group with this proxy's state of its targets. It stays the same while the routing around it changes.
type group struct {
	id       string
	drained  func(target string) // may be nil
	counters                     // of what no target got

	mu       sync.Mutex
	config   *traffic.Group
	targets  map[string]*target // by ID; one that is gone stays while it has something in flight
	eligible []*target          // healthy and not ejected
	rejoins  time.Time          // when the first of the ejected ones is eligible again; zero without any
	turn     int                // of round robin
	inFlight int
	waiting  int
	wake     chan struct{} // closed and replaced when a target may have become eligible
	closed   bool
}

// target is one target of a group. The group's mu protects it.
type target struct {
	id      string
	hash    uint64
	address string
	state   traffic.TargetState
	since   time.Time
	owner   traffic.Owner

	inFlight     int
	busy         float64 // Metrics.Busy until counted
	counted      time.Time
	failures     int // in a row
	ejectedUntil time.Time
	told         bool // drained was called

	counters
}

func newGroup(id string, drained func(string)) *group {
	return &group{id: id, drained: drained, config: &traffic.Group{ID: id}, targets: map[string]*target{}, wake: make(chan struct{})}
}

// update gives the group another config, and lets waiting requests look again.
func (g *group) update(config traffic.Group) {
	g.mu.Lock()
	if reflect.DeepEqual(*g.config, config) && !g.closed {
		g.mu.Unlock()
		return
	}
	g.config = &config
	present := make(map[string]bool, len(config.Targets))
	for _, c := range config.Targets {
		present[c.ID] = true
		t := g.targets[c.ID]
		if t == nil {
			t = &target{id: c.ID, hash: rendezvous.Hash(c.ID)}
			g.targets[c.ID] = t
		}
		if c.State == traffic.Healthy && t.state != traffic.Healthy {
			t.failures, t.ejectedUntil = 0, time.Time{}
		}
		if c.State != traffic.Draining { // a server that lags behind says so of one that was draining already: it is told of again when it drains
			t.told = false
		}
		t.address, t.state, t.since, t.owner = c.Address, c.State, c.Since, config.Owner
		if c.Owner != nil {
			t.owner = *c.Owner
		}
	}
	for id, t := range g.targets {
		if !present[id] {
			t.state = traffic.Draining
		}
	}
	g.rebuild(time.Now())
	drained := g.takeDrained(slices.Collect(maps.Values(g.targets))...)
	maps.DeleteFunc(g.targets, func(id string, t *target) bool { return !present[id] && t.inFlight == 0 })
	g.mu.Unlock()
	g.notifyDrained(drained)
}

// close has no more requests wait. Those in flight go on.
func (g *group) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.update(traffic.Group{ID: g.id, Name: g.settings().Name})
}

// stopWaiting has no request wait for a target any more. Its targets go on: a request that came before the end of this proxy is served.
func (g *group) stopWaiting() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	g.rebuild(time.Now())
}

// rebuild lists the eligible targets, in the order of their IDs, and wakes requests that wait for one. When the others have gone, those that are ejected
// come back before their time: while a target is healthy no request waits for one. g.mu is held.
func (g *group) rebuild(now time.Time) {
	var ejected []*target
	g.eligible, g.rejoins = nil, time.Time{}
	for _, t := range g.targets {
		switch {
		case t.state != traffic.Healthy:
		case !now.Before(t.ejectedUntil):
			g.eligible = append(g.eligible, t)
		default:
			ejected = append(ejected, t)
			if g.rejoins.IsZero() || t.ejectedUntil.Before(g.rejoins) {
				g.rejoins = t.ejectedUntil
			}
		}
	}
	if len(g.eligible) == 0 {
		for _, t := range ejected {
			t.ejectedUntil = time.Time{}
		}
		g.eligible, g.rejoins = ejected, time.Time{}
	}
	slices.SortFunc(g.eligible, func(a, b *target) int { return cmp.Compare(a.id, b.id) })
	if len(g.eligible) > 0 || g.closed {
		close(g.wake)
		g.wake = make(chan struct{})
	}
}

// takeDrained are the draining targets that have nothing in flight and were not reported yet. g.mu is held.
func (g *group) takeDrained(targets ...*target) (ids []string) {
	for _, t := range targets {
		if t.state == traffic.Draining && t.inFlight == 0 && !t.told {
			t.told = true
			ids = append(ids, t.id)
		}
	}
	return ids
}

func (g *group) notifyDrained(drained []string) {
	if g.drained == nil {
		return
	}
	for _, id := range drained {
		g.drained(id)
	}
}

// settings are the config as it is now.
func (g *group) settings() *traffic.Group {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.config
}
