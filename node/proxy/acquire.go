package proxy

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"pinion/raftfsm/traffic"
)

// unavailableError says why no target takes a request now.
type unavailableError struct{ reason string }

func (e *unavailableError) Error() string { return e.reason }

// acquire is the target for one more request, which is in flight to it until release. None of tried is taken, and none at their hosts while there are
// others. While no target is eligible it waits, within the bounds of the group; after a failed attempt it does not wait.
func (g *group) acquire(ctx context.Context, prefer preference, tried []*target) (*target, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if t, err := g.takeNow(prefer, tried); t != nil || err != nil {
		return t, err
	}
	return g.wait(ctx, prefer)
}

// acquireNow is acquire for who does not wait: nil without an error where acquire would.
func (g *group) acquireNow(prefer preference, tried []*target) (*target, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.takeNow(prefer, tried)
}

// takeNow is nil without an error when the request has to wait. g.mu is held.
func (g *group) takeNow(prefer preference, tried []*target) (*target, error) {
	if err := g.isFull(); err != nil {
		return nil, err
	}
	t := g.take(prefer, tried)
	if t == nil && len(tried) > 0 {
		return nil, &unavailableError{fmt.Sprintf("target group %s has no other healthy target", g.name())}
	}
	return t, nil
}

// isFull says when the group has as many requests in flight as it may have; those that wait count. g.mu is held.
func (g *group) isFull() error {
	if most := g.config.MaxInFlight; most > 0 && g.inFlight+g.waiting >= most {
		return &unavailableError{fmt.Sprintf("target group %s has %d requests in flight on this host, which is its limit", g.name(), most)}
	}
	return nil
}

// name is the group's name for people. g.mu is held.
func (g *group) name() string { return cmp.Or(g.config.Name, g.id) }

// wait takes the first target that becomes eligible. g.mu is held, but not while it waits.
func (g *group) wait(ctx context.Context, prefer preference) (*target, error) {
	most, timeout := g.config.MaxWaiting, g.config.WaitTimeout
	if most == 0 {
		most = traffic.DefaultMaxWaiting
	}
	if timeout == 0 {
		timeout = traffic.DefaultWaitTimeout
	}
	switch {
	case most < 0 || timeout < 0:
		return nil, &unavailableError{fmt.Sprintf("target group %s has no healthy target", g.name())}
	case g.waiting >= most:
		return nil, &unavailableError{fmt.Sprintf("target group %s has no healthy target, and %d requests wait for one already", g.name(), g.waiting)}
	}
	g.waiting++
	defer func() { g.waiting-- }()
	patience, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for !g.closed {
		wake := g.wake
		g.mu.Unlock()
		select {
		case <-wake:
		case <-patience.Done():
		}
		g.mu.Lock()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case patience.Err() != nil:
			return nil, &unavailableError{fmt.Sprintf("target group %s had no healthy target for %v", g.name(), timeout)}
		}
		if t := g.take(prefer, nil); t != nil {
			return t, nil
		}
	}
	return nil, &unavailableError{fmt.Sprintf("target group %s is gone, or has no healthy target while its host is stopped", g.name())}
}

// take chooses a target and counts the request. g.mu is held.
func (g *group) take(prefer preference, tried []*target) *target {
	now := time.Now()
	if !g.rejoins.IsZero() && !now.Before(g.rejoins) {
		g.rebuild(now)
	}
	t := g.choose(now, prefer, elsewhere(g.eligible, tried))
	if t == nil {
		return nil
	}
	t.count(1)
	g.inFlight++
	return t
}

// outcome is the outcome of an attempt at a target.
type outcome int

const (
	succeeded outcome = iota
	failed            // it did not answer, or says that it is overloaded: what counts for ejection
	abandoned         // the client left, or this host could not connect to anything
)

// Outlier ejection, as of Service Connect.
const (
	failuresToEject = 5
	ejectionTime    = 30 * time.Second
)

// observe counts failures in a row, and ejects a target with too many: it gets no requests for a while. The last eligible one is never ejected.
func (g *group) observe(t *target, how outcome) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch how {
	case succeeded:
		t.failures = 0
	case failed:
		t.failures++
	}
	if t.failures < failuresToEject || len(without(g.eligible, []*target{t})) == 0 {
		return
	}
	now := time.Now()
	t.failures, t.ejectedUntil = 0, now.Add(ejectionTime)
	g.rebuild(now)
}

// release ends acquire.
func (g *group) release(t *target) {
	g.mu.Lock()
	t.count(-1)
	g.inFlight--
	drained := g.takeDrained(t)
	if len(drained) > 0 && !g.isTarget(t.id) {
		delete(g.targets, t.id)
	}
	g.mu.Unlock()
	g.notifyDrained(drained)
}

func (g *group) isTarget(id string) bool {
	for i := range g.config.Targets {
		if g.config.Targets[i].ID == id {
			return true
		}
	}
	return false
}
