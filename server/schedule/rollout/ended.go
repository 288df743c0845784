package rollout

import (
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// The pause after failed tasks of a deployment, before the next are started: it doubles with each wave of failures.
var delays = backoff.Backoff{Min: time.Second, Max: 5 * time.Minute}

const impairedFrom = 3 // waves, from which on an event says so

// What the stopped reasons of a service are, ECS's.
const (
	reasonUnhealthy = "Task failed container health checks"
	reasonTarget    = "Task failed ELB health checks in (target-group %s)"
	reasonScaling   = "Scaling activity initiated by (deployment %s)"

	reasonRebalancing = "Availability-zone rebalancing initiated by (deployment %s)"
)

// outcome is what the end of a task says of its deployment.
type outcome int

const (
	displaced outcome = iota // it was stopped, gave way, or lost its host: another one takes its place at once
	crashed                  // it was healthy and ended
	failed                   // it never was healthy
)

// noteEnds takes the tasks into account that have ended, and healthy ones that end a series of failures.
func (p *planner) noteEnds() {
	for _, t := range p.tasks {
		d := p.s.Deployment(t.Service.Deployment)
		if t.LastStatus != spec.Stopped {
			p.noteHealthy(d, t)
			continue
		}
		if p.step.Noted = append(p.step.Noted, t.ID); t.HostID != "" {
			p.s.Conditions.Freed = p.now
		}
		if d == nil {
			continue
		}
		switch p.rules.outcome(t) {
		case failed:
			p.noteFailure(d, t)
		case crashed:
			d.LastFailure = p.now
		case displaced:
			if d.ID == p.s.Primary().ID {
				p.displaced++
			}
		}
	}
}

// noteFailure counts a failed task; one that was made after the last failure was noted begins another wave.
func (p *planner) noteFailure(d *service.Deployment, t *spec.Task) {
	d.FailedTasks++
	if d.State == service.InProgress {
		d.Failures++
	}
	if d.Waves == 0 || t.CreatedAt.After(d.LastFailure) {
		d.Waves++
		d.LastFailure = p.now
	}
	if d.Waves >= impairedFrom && !d.Impaired {
		d.Impaired = true
		p.events.impaired()
	}
}

// noteHealthy ends a series of failures when a task got healthy after the last one.
func (p *planner) noteHealthy(d *service.Deployment, t *spec.Task) {
	if d == nil || d.Waves == 0 && d.Failures == 0 || t.DesiredStatus == spec.Stopped {
		return
	}
	since := t.Times.Started
	if len(p.rules.checkedContainers(t))+len(p.rules.targets(t)) == 0 {
		since = since.Add(p.s.HealthyAfter())
	}
	if healthy, _ := p.rules.health(t); !healthy || !since.After(d.LastFailure) {
		return
	}
	d.Waves, d.Impaired = 0, false
	if b := p.s.Settings.Deployment.Breaker; b == nil || b.ResetOnHealth == nil || *b.ResetOnHealth {
		d.Failures = 0
	}
}

// lostHost reports whether the pool has declared a task STOPPED because its host was lost or removed: then nobody knows how its containers
// ended. A host says of each container that it could not start why, and of others when they ended.
func lostHost(t *spec.Task) bool {
	for i := range t.Containers {
		if c := &t.Containers[i]; c.ExitCode != nil || c.Reason != "" {
			return false
		}
	}
	return t.Times.ExecutionStopped.IsZero() && t.Times.Stopping.Equal(t.Times.Stopped)
}

// heldUntil is when a deployment may start tasks again.
func heldUntil(d *service.Deployment) time.Time {
	if d.LastFailure.IsZero() {
		return time.Time{}
	}
	return d.LastFailure.Add(delays.After(d.Waves - 1))
}
