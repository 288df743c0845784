package rollout

import (
	"cmp"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// slowest is the part of Desired that a rollout without room may be below MinHealthy, at least one.
const slowest = 16

// stops stops tasks of a service in a step.
type stops struct {
	s     *service.Service // as it is after the step
	now   time.Time
	step  *raftfsm.StepService
	rules *rules
	live  replicas
}

// stop stops a task; a protected one only when it has failed, or with its service.
func (o *stops) stop(r *replica, reason string, failed bool) bool {
	if r.stopped || len(o.step.Stops) >= maxStepTasks || o.isProtected(r.Task) && !failed {
		return false
	}
	r.stopped = true
	o.step.Stops = append(o.step.Stops, raftfsm.ServiceStop{TaskID: r.ID, Reason: reason, Failed: failed})
	return true
}

func (o *stops) isProtected(t *spec.Task) bool {
	if o.s.Status == service.Draining || !t.ProtectedUntil.Get().After(o.now) {
		return false
	}
	o.rules.wakeAt(t.ProtectedUntil.Get())
	return true
}

// isSpare reports whether as many healthy tasks as there have to be are left without this one.
func (o *stops) isSpare(r *replica) bool {
	return !r.healthy || o.live.count(isHealthy) > o.minHealthy()
}

func (o *stops) minHealthy() int { return min(o.s.MinHealthy(), o.s.Desired) }

// scaling is the reason for stopping tasks that are too many or replaced.
func (o *stops) scaling() string {
	return fmt.Sprintf(reasonScaling, service.DeploymentName(o.s.Primary().ID))
}

// stopReplaced stops current tasks that are too many, and outdated ones that are replaced or are of no use to the service.
func (p *planner) stopReplaced() {
	surplus := p.balance().surplus() - p.balance().held()
	for _, r := range p.live.stopOrder(isCurrent) {
		if surplus <= 0 || !p.stops.isSpare(r) {
			break // those that come later are healthy too
		}
		if p.stops.stop(r, p.stops.scaling(), false) {
			surplus--
		}
	}
	replaced := p.live.count(p.isReplaced) - max(0, p.s.Desired-p.live.count(isCurrentHealthy))
	for _, r := range p.live.stopOrder(p.isReplaced) {
		useless := r.LastStatus != spec.Running || p.s.Strategy == service.Daemon && !isFor(p.f.Hosts, r)
		if (useless || replaced > 0 && p.stops.isSpare(r)) && p.stops.stop(r, p.rules.reason(r, p.stops.scaling()), r.unhealthy) {
			replaced--
		}
	}
}

// reason is why a task is stopped: because it is unhealthy, or its GPU has failed, or otherwise what is given.
func (u *rules) reason(r *replica, otherwise string) string {
	if !r.unhealthy {
		return cmp.Or(r.gpuFault, otherwise)
	}
	if b, found := u.unhealthyTarget(r.Task); found != nil {
		return fmt.Sprintf(reasonTarget, b.GroupARN())
	}
	return reasonUnhealthy
}

// makeRoom stops as many outdated tasks as current ones need that find no room: beyond MaxTasks, or on the hosts. Those that are not healthy
// go first. Of the healthy ones MinHealthy stay, or a few less where RoomPolicy says so. While tasks of the new deployment fail, none is
// stopped for them.
func (p *planner) makeRoom() {
	wanted := max(p.short, p.waiting()-p.stopping) - len(p.step.Stops)
	spare, below := p.live.count(isHealthy)-p.stops.minHealthy(), 0
	if p.s.NoCapacityPolicy() == service.StopFirst {
		below = max(1, p.s.Desired/slowest)
	}
	blocked := false
	for _, r := range p.live.stopOrder(p.isReplaced) {
		if wanted <= 0 || r.healthy && (p.s.Primary().Waves > 0 || spare+below <= 0) {
			blocked = wanted > 0 && below == 0 && !p.isMoving()
			break
		}
		if p.stops.stop(r, p.rules.reason(r, p.stops.scaling()), r.unhealthy) {
			if wanted--; r.healthy {
				spare--
			}
		}
	}
	p.recordBlocked(blocked)
}

// isMoving reports whether something changes by itself: tasks start or stop, or have a place and are not healthy yet.
func (p *planner) isMoving() bool {
	return len(p.step.Stops)+len(p.step.Starts)+p.stopping > 0 || p.live.count(func(r *replica) bool { return r.current && !r.healthy && !r.noPlace }) > 0
}

// waiting is the number of current tasks that wait without a place, though there is a host that could run them with more room.
func (p *planner) waiting() int {
	waiting := p.live.count(func(r *replica) bool { return r.current && r.noPlace })
	if waiting == 0 || p.live.count(p.isReplaced) == 0 { // nothing could make room
		return 0
	}
	if p.f.Infeasible(p.live.firstWithoutPlace()) != "" {
		p.rules.wakeAt(p.now.Add(hostRetry))
		return 0
	}
	return waiting
}
