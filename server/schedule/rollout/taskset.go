package rollout

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// nextOfTaskSets is a step of the first task set of a service that has anything to do. After it the service is looked at again.
func nextOfTaskSets(v *raftfsm.View, s *service.Service, f Facts) (step raftfsm.StepService, wake time.Time, changes bool) {
	for i := range s.Deployments {
		step, at, changes := nextOfTaskSet(v, s, i, f)
		if changes {
			return step, at, true
		}
		if !at.IsZero() && (wake.IsZero() || at.Before(wake)) {
			wake = at
		}
	}
	return step, wake, false
}

// nextOfTaskSet is a step of one task set: that of a service which has it as its PRIMARY deployment, and nothing else.
func nextOfTaskSet(v *raftfsm.View, s *service.Service, i int, f Facts) (step raftfsm.StepService, wake time.Time, changes bool) {
	set := s.Deployments[i]
	alone := *s
	alone.Deployments, alone.Conditions, alone.Desired = []service.Deployment{set}, set.Conditions, taskset.Find(v, set.ID).Desired(s, &set)
	alone.Deployments[0].Status = service.Primary
	p := newPlanner(v, &alone, f)
	p.tasks = slices.DeleteFunc(p.tasks, func(t *spec.Task) bool { return t.Service.Deployment != set.ID })
	p.events.of += ", taskSet " + service.DeploymentName(set.ID)
	p.events.steady = service.ActionTaskSetSteady
	p.noteEnds()
	p.readTasks()
	p.start()
	p.stopReplaced()
	p.makeRoom()
	p.events.stopped(p.live)
	p.recordUnplaced()
	if set.Status != service.DrainingSet {
		p.recordStability()
		p.recordSteady()
	}
	step, wake, changes = p.result()
	step.Service = *s
	step.Service.Deployments = slices.Clone(s.Deployments)
	if set.Status == service.DrainingSet && len(p.live)+p.stopping == 0 {
		step.Service.Deployments = slices.Delete(step.Service.Deployments, i, i+1)
		return step, wake, true
	}
	after := &step.Service.Deployments[i]
	*after = *p.s.Primary()
	after.Status, after.Conditions = set.Status, p.s.Conditions
	return step, wake, changes
}

// recordStability records whether a task set is steady, as ECS has it: it has as many tasks as it is to have, they run, on hosts that do not drain, and
// are healthy as far as anything checks them.
func (p *planner) recordStability() {
	state := service.InProgress
	if p.isAtRest() && p.live.count(p.rules.isStable) == p.s.Desired {
		state = service.Completed
	}
	d := p.s.Primary()
	if d.State != state {
		d.State, d.UpdatedAt = state, p.now
	}
}

// isStable reports whether a task does not keep its task set from being steady.
func (u *rules) isStable(r *replica) bool {
	unchecked := len(u.checkedContainers(r.Task))+len(u.targets(r.Task)) == 0
	return r.current && r.LastStatus == spec.Running && (r.healthy || unchecked)
}
