package rollout

import (
	"fmt"
	"slices"

	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// rollout is the one that the PRIMARY deployment belongs to, as it is after the step so far; nil when it is forgotten.
func (p *planner) rollout() *service.Rollout {
	id := p.s.Primary().Rollout
	for i := range p.step.Rollouts {
		if p.step.Rollouts[i].ID == id {
			return &p.step.Rollouts[i]
		}
	}
	return p.v.ServiceRollout(id)
}

// putRollout records a rollout in the step.
func (p *planner) putRollout(r *service.Rollout) {
	p.step.Rollouts = slices.DeleteFunc(p.step.Rollouts, func(other service.Rollout) bool { return other.ID == r.ID })
	p.step.Rollouts = append(p.step.Rollouts, *r)
}

// tripBreaker ends a deployment with too many failures: the service goes back to the last one that was completed, or starts nothing more. A
// rollback that fails goes on, as nothing is left to go back to.
func (p *planner) tripBreaker() {
	d, r := p.s.Primary(), p.rollout()
	threshold := p.s.Threshold()
	if threshold == 0 || d.State != service.InProgress || d.Failures < threshold || r == nil || r.Over() {
		return
	}
	tripped := *r
	tripped.Tripped, tripped.Failures, tripped.Threshold = true, d.Failures, threshold
	reason := "ECS deployment circuit breaker: tasks failed to start."
	if r.Rollback != nil {
		p.putRollout(tripped.End(service.RolloutRollbackFailed, reason, p.now))
		return
	}
	p.journal.failed(d)
	p.endDeployment(&tripped, p.s.Settings.Deployment.Breaker.Rollback, reason)
}

// endDeployment ends the PRIMARY deployment: with back the service goes back to the last one that was completed. Otherwise, and where there is none, it starts
// no more tasks.
func (p *planner) endDeployment(r *service.Rollout, back bool, reason string) {
	d := p.s.Primary()
	if back {
		if rolled, err := p.s.RollBack(r, reason, p.now); err == nil {
			p.putRollout(rolled)
			p.journal.addEvent("", "%s rolling back to %s.", deployment(d.ID), deployment(p.s.Primary().ID))
			return
		}
	}
	d.State, d.Reason, d.UpdatedAt = service.Failed, reason, p.now
	p.putRollout(r.End(service.RolloutStopped, reason, p.now))
}

// complete completes the PRIMARY deployment: its tasks are there and healthy, those of others are gone or going, and all of the traffic is its own.
func (p *planner) complete() {
	d := p.s.Primary()
	others := p.live.count(func(r *replica) bool { return r.Service.Deployment != d.ID })
	if d.State != service.InProgress || p.s.Shift.Stage != "" || others > 0 || p.live.count(isCurrentHealthy) < p.s.Desired || len(p.step.Starts) > 0 || (lifecycleHooks{p}).complete() {
		return
	}
	d.State, d.WasCompleted, d.UpdatedAt = service.Completed, true, p.now
	d.Reason = fmt.Sprintf("ECS deployment %s completed.", service.DeploymentName(d.ID))
	d.Failures = 0
	p.journal.addEvent("", "%s deployment completed.", deployment(d.ID))
	r := p.rollout()
	switch {
	case r == nil || r.Over():
	case r.Rollback != nil:
		p.putRollout(r.End(service.RolloutRollbackSuccessful, r.Reason, p.now))
	default:
		p.putRollout(r.End(service.RolloutSuccessful, "", p.now))
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
