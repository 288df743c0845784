// Package target checks the health of targets: the container ports of this host's tasks that are in target groups.
package target

import (
	"context"
	"sync"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm/traffic"
)

// Checker checks the targets of this host, each in a goroutine of its own. It is safe for concurrent use.
type Checker struct {
	report func(task string, found traffic.TargetHealth)

	mu     sync.Mutex
	checks map[string]*check // by Target.ID
	group  sync.WaitGroup
}

// New returns a Checker without targets. It calls report when it has found out what a target is, and after each change.
func New(report func(task string, found traffic.TargetHealth)) *Checker {
	return &Checker{report: report, checks: map[string]*check{}}
}

// Apply has the checker check the targets of a Routing whose tasks are this host's, until they are draining or gone, or ctx ends.
func (c *Checker) Apply(ctx context.Context, routing traffic.Routing, ours func(task string) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := map[string]bool{}
	for _, g := range routing.Groups {
		for _, t := range g.Targets {
			id, ok := traffic.ParseTargetID(t.ID)
			if !ok || t.State == traffic.Draining || !ours(id.Task) {
				continue
			}
			wanted[t.ID] = true
			next := check{id: id, address: t.Address, group: g.Protocol, version: g.Version, health: g.Health}
			if running := c.checks[t.ID]; running != nil && running.same(&next) {
				continue
			} else if running != nil {
				running.cancel()
			}
			c.start(ctx, t.ID, &next)
		}
	}
	for id, running := range c.checks {
		if !wanted[id] {
			running.cancel()
			delete(c.checks, id)
		}
	}
}

func (c *Checker) start(ctx context.Context, id string, next *check) {
	ctx, next.cancel = context.WithCancel(ctx)
	c.checks[id] = next
	c.group.Go(func() { next.run(ctx, c.report) })
}

// Wait waits until nothing is checked any more: the context of Apply has ended.
func (c *Checker) Wait() { c.group.Wait() }

// check is the health check of one target.
type check struct {
	id      traffic.TargetID
	address string
	group   traffic.Protocol
	version traffic.Version
	health  traffic.HealthCheck
	cancel  context.CancelFunc
}

func (k *check) same(other *check) bool {
	return k.address == other.address && k.group == other.group && k.version == other.version && k.health == other.health
}

// firstInterval is the time between two checks of a target of which nothing is known yet, if that is less than its group's.
const firstInterval = time.Second

// run checks until ctx ends. A target is healthy after its first success, and unhealthy when it fails for as long as that takes at the group's
// interval; from then on the group's thresholds count.
func (k *check) run(ctx context.Context, report func(string, traffic.TargetHealth)) {
	state, inRow := traffic.Initial, 0
	tell := func(now traffic.TargetState, reason, detail string) {
		state, inRow = now, 0
		report(k.id.Task, traffic.TargetHealth{Group: k.id.Group, Container: k.id.Container, Port: k.id.Port, State: now, Reason: reason, Detail: detail})
	}
	if k.health.Disabled {
		tell(traffic.Healthy, "", "")
		return
	}
	pause, began := min(k.health.Interval, firstInterval), time.Now()
	for ctx.Err() == nil {
		passed, reason, detail := k.once(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case passed == (state == traffic.Healthy) && state != traffic.Initial:
			inRow = 0
		case passed:
			if inRow++; state == traffic.Initial || inRow >= k.health.HealthyThreshold {
				tell(traffic.Healthy, "", "")
			}
		case state == traffic.Initial:
			if time.Since(began) >= k.health.Interval*time.Duration(k.health.UnhealthyThreshold) {
				tell(traffic.Unhealthy, reason, detail)
			}
		default:
			if inRow++; inRow >= k.health.UnhealthyThreshold {
				tell(traffic.Unhealthy, reason, detail)
			}
		}
		if state != traffic.Initial {
			pause = k.health.Interval
		}
		if backoff.Sleep(ctx, pause) != nil {
			return
		}
	}
}
