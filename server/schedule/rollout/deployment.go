package rollout

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// rollouts reads and records the rollouts of a service in a step.
type rollouts struct {
	v      *raftfsm.View
	s      *service.Service
	now    time.Time
	step   *raftfsm.StepService
	events *eventRecorder
}

// current is the rollout that the PRIMARY deployment belongs to, as it is after the step so far; nil when it is forgotten.
func (o *rollouts) current() *service.Rollout {
	id := o.s.Primary().Rollout
	for i := range o.step.Rollouts {
		if o.step.Rollouts[i].ID == id {
			return &o.step.Rollouts[i]
		}
	}
	return o.v.ServiceRollout(id)
}

// put records a rollout in the step.
func (o *rollouts) put(r *service.Rollout) {
	o.step.Rollouts = slices.DeleteFunc(o.step.Rollouts, func(other service.Rollout) bool { return other.ID == r.ID })
	o.step.Rollouts = append(o.step.Rollouts, *r)
}

// tripBreaker ends a deployment with too many failures: the service goes back to the last one that was completed, or starts nothing more. A
// rollback that fails goes on, as nothing is left to go back to.
func (o *rollouts) tripBreaker() {
	d, r := o.s.Primary(), o.current()
	threshold := o.s.Threshold()
	if threshold == 0 || d.State != service.InProgress || d.Failures < threshold || r == nil || r.IsFinished() {
		return
	}
	tripped := *r
	tripped.Tripped, tripped.Failures, tripped.Threshold = true, d.Failures, threshold
	reason := "ECS deployment circuit breaker: tasks failed to start."
	if r.Rollback != nil {
		o.put(tripped.End(service.RolloutRollbackFailed, reason, o.now))
		return
	}
	o.events.failed(d)
	o.end(&tripped, o.s.Settings.Deployment.Breaker.Rollback, reason)
}

// end ends the PRIMARY deployment: with back the service goes back to the last one that was completed. Otherwise, and where there is none, it starts
// no more tasks.
func (o *rollouts) end(r *service.Rollout, back bool, reason string) {
	d := o.s.Primary()
	if back {
		if rolled, err := o.s.RollBack(r, reason, o.now); err == nil {
			o.put(rolled)
			o.events.addEvent("", "%s rolling back to %s.", deployment(d.ID), deployment(o.s.Primary().ID))
			return
		}
	}
	d.State, d.Reason, d.UpdatedAt = service.Failed, reason, o.now
	o.put(r.End(service.RolloutStopped, reason, o.now))
}

// complete completes the PRIMARY deployment: its tasks are there and healthy, those of others are gone or going, and all of the traffic is its own.
func (p *planner) complete() {
	d := p.s.Primary()
	others := p.live.count(func(r *replica) bool { return r.Service.Deployment != d.ID })
	if d.State != service.InProgress || p.s.Shift.Stage != "" || others > 0 || p.live.count(isCurrentHealthy) < p.s.Desired || len(p.step.Starts) > 0 || p.hooks().complete() {
		return
	}
	d.State, d.WasCompleted, d.UpdatedAt = service.Completed, true, p.now
	d.Reason = fmt.Sprintf("ECS deployment %s completed.", service.DeploymentName(d.ID))
	d.Failures = 0
	p.events.addEvent("", "%s deployment completed.", deployment(d.ID))
	r := p.rollouts.current()
	switch {
	case r == nil || r.IsFinished():
	case r.Rollback != nil:
		p.rollouts.put(r.End(service.RolloutRollbackSuccessful, r.Reason, p.now))
	default:
		p.rollouts.put(r.End(service.RolloutSuccessful, "", p.now))
	}
}

// dropReplaced drops the deployments that are replaced: without tasks, and not the one that a rollback goes back to. Task sets end with their service.
func (p *planner) dropReplaced() {
	has := map[string]bool{}
	for _, t := range p.tasks {
		if t.LastStatus != spec.Stopped {
			has[t.Service.Deployment] = true
		}
	}
	back := ""
	if last := p.s.LastCompleted(); last != nil && p.s.Primary().State != service.Completed {
		back = last.ID
	}
	p.s.Deployments = slices.DeleteFunc(p.s.Deployments, func(d service.Deployment) bool {
		return d.Status != service.Primary && d.ID != back && d.ID != p.s.Shift.From && !has[d.ID]
	})
}
