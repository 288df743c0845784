package rollout

import (
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// start starts the current tasks that are missing, as far as there is room within MaxTasks, the pause after failures is over and limits allow.
func (p *planner) start() {
	if r := p.rollouts.current(); p.s.Primary().State == service.Failed || p.s.Shift.StartsNothing() && (r == nil || r.Rollback == nil) {
		return
	}
	missing := max(0, p.s.Desired-p.live.count(isCurrent))
	if held := heldUntil(p.s.Primary()); held.After(p.now) && missing > p.displaced {
		p.rules.wakeAt(held)
		missing = p.displaced
	}
	room := max(0, max(p.s.MaxTasks(), p.s.Desired)-p.live.count(func(r *replica) bool { return !p.isKept(r) }))
	p.short = max(0, missing-room)
	n := min(missing-p.short, maxStepTasks)
	limited := p.f.Limit != "" && n > p.f.StartAtMost
	if limited {
		n = p.f.StartAtMost
		p.rules.wakeAt(p.now.Add(limitRetry))
	}
	p.events.once(&p.s.Conditions.Limited, limited, service.ActionStartImpaired, "was unable to start a task: %s", p.f.Limit)
	p.startTasks(p.s.Primary(), n)
}

// startTasks makes n tasks of a deployment; those of a DAEMON for the hosts that miss one.
func (p *planner) startTasks(of *service.Deployment, n int) {
	template := p.templates.of(of)
	if n <= 0 || template == nil {
		return
	}
	hosts := p.live.hostsInNeed(p.f.Hosts)
	var started []*spec.Task
	for i := range n {
		host := ""
		if p.s.Strategy == service.Daemon {
			host = hosts[i]
		}
		started = append(started, template.task(host, p.f.NewID, p.now))
	}
	p.step.Starts = append(p.step.Starts, started...)
	p.events.started(started)
}
