package rollout

import (
	"slices"
	"strconv"
	"time"

	"pinion/raftfsm/service"
)

// trafficShift is the part of a step that moves traffic.
type trafficShift struct {
	rollouts *rollouts
	hooks    lifecycleHooks
	rules    *rules
	live     replicas
}

// advance takes the move of traffic to the PRIMARY deployment one stage, or one step of traffic, on. The tasks that the traffic comes from are
// kept until it is over, so that it can go back at any moment; it goes on only while all tasks of the PRIMARY deployment are healthy.
func (m trafficShift) advance() {
	s, shift := m.rollouts.s, &m.rollouts.s.Shift
	if shift.IsFirst() {
		m.advanceFirst()
	}
	if !shift.IsOn() {
		return
	}
	from, r := s.Deployment(shift.From), m.rollouts.current()
	ready := m.live.count(isCurrentHealthy) >= s.Desired
	switch {
	case from == nil || r != nil && r.Rollback != nil && ready:
		*shift = service.Shift{}
	case r != nil && r.Rollback != nil:
	case s.Primary().State == service.Failed:
		m.takeBack()
	case shift.StartsNothing():
		m.nextStage(from)
	case m.live.count(isCurrentHealthy) == 0 && s.Desired > 0:
		m.takeBack()
	case ready:
		m.nextStage(from)
	}
}

// advanceFirst takes the first deployment of a service to the next stage that has a hook: before its first task, or when all are healthy and serve
// already, as nothing else does.
func (m trafficShift) advanceFirst() {
	s, shift, r := m.rollouts.s, &m.rollouts.s.Shift, m.rollouts.current()
	switch {
	case r == nil || r.IsFinished() || r.Rollback != nil:
		*shift = service.Shift{}
	case m.hooks.wait():
	case shift.StartsNothing(), m.live.count(isCurrentHealthy) >= s.Desired:
		for _, stage := range firstStages[slices.Index(firstStages, shift.Stage)+1:] {
			if stage == service.StageScaleUp || m.hooks.areAt(stage) {
				m.enter(stage, 0)
				return
			}
		}
		*shift = service.Shift{}
	}
}

// firstStages are those of the first deployment of a service: there is no other one that traffic could move from. A ROLLING one has no hooks at the last.
var firstStages = []service.Stage{
	service.StagePreScaleUp, service.StageScaleUp, service.StagePostScaleUp, service.StagePostTestTraffic, service.StagePreProduction, service.StagePostProduction,
}

// takeBack has all of the traffic be that of the deployment that it came from: no task of the PRIMARY one is healthy. A pause is over then: its stage
// comes again.
func (m trafficShift) takeBack() {
	s, shift := m.rollouts.s, &m.rollouts.s.Shift
	if shift.Stage == service.StageScaleUp {
		return
	}
	if shift.PerMille > 0 {
		m.rollouts.events.addEvent("", "%s has all of the production traffic again: %s has no healthy task.", deployment(shift.From), deployment(s.Primary().ID))
	}
	m.enter(service.StageScaleUp, 0)
	if m.hooks.wait() {
		again := *m.rollouts.current()
		again.Pauses = nil
		m.rollouts.put(&again)
	}
}

// enter begins a stage, and the pauses of its hooks.
func (m trafficShift) enter(stage service.Stage, perMille int) {
	m.rollouts.s.Shift.Stage, m.rollouts.s.Shift.PerMille, m.rollouts.s.Shift.Since = stage, perMille, m.rollouts.now
	if m.hooks.areAt(stage) {
		m.hooks.begin(m.rollouts.current(), stage)
	}
}

// nextStage is what comes after a stage whose tasks are ready, once its hooks have let the rollout go on.
func (m trafficShift) nextStage(from *service.Deployment) {
	shift, how := &m.rollouts.s.Shift, &m.rollouts.s.Settings.Deployment
	after := shift.Stage
	switch {
	case m.hooks.wait(), after == service.StageReconcile && m.hooks.reconcile():
		return
	case after == service.StageProduction && shift.PerMille < service.AllTraffic:
		if !m.isAfter(how.StepBake()) {
			return
		}
		after = service.StagePostTestTraffic // what comes before the next step
	case after == service.StageBake:
		if m.isAfter(how.BakeTime()) {
			*shift = service.Shift{}
		}
		return
	}
	m.begin(m.following(after), from)
}

// following is the stage behind another one. Those at which nothing happens are stages only with hooks.
func (m trafficShift) following(after service.Stage) service.Stage {
	order := []service.Stage{
		service.StageReconcile, service.StagePreScaleUp, service.StageScaleUp, service.StagePostScaleUp, service.StageTestTraffic, service.StagePostTestTraffic,
		service.StagePreProduction, service.StageProduction, service.StagePostProduction, service.StageBake,
	}
	for _, stage := range order[slices.Index(order, after)+1:] {
		if !slices.Contains(service.PauseStages, stage) || m.hooks.areAt(stage) {
			return stage
		}
	}
	return service.StageBake
}

// begin enters a stage and tells what begins with it. A ROLLING deployment has moved nothing: with its first tasks begins what it always does.
func (m trafficShift) begin(stage service.Stage, from *service.Deployment) {
	s, events := m.rollouts.s, m.rollouts.events
	shift, how := &s.Shift, &s.Settings.Deployment
	switch {
	case stage == service.StageScaleUp && !m.isOn():
		*shift = service.Shift{}
	case stage == service.StageScaleUp:
		events.addEvent("", "%s starts its %d tasks beside those of %s, which serve until all of the traffic has moved (%s): both need their room at once.",
			deployment(s.Primary().ID), s.Desired, deployment(from.ID), how.StrategyName())
		m.enter(stage, 0)
	case stage == service.StageProduction:
		m.enter(stage, how.NextTraffic(shift.PerMille))
		percent := strconv.FormatFloat(float64(shift.PerMille)/10, 'f', -1, 64)
		events.addEvent("", "%s has %s %% of the production traffic.", deployment(s.Primary().ID), percent)
	default:
		m.enter(stage, shift.PerMille)
	}
}

// isOn reports whether the rollout moves traffic, as it was to when it began.
func (m trafficShift) isOn() bool {
	r := m.rollouts.current()
	return r == nil || r.Configuration.Shifts()
}

// isAfter reports whether the stage or step goes on for so long already.
func (m trafficShift) isAfter(pause time.Duration) bool {
	ends := m.rollouts.s.Shift.Since.Add(pause)
	m.rules.wakeAt(ends)
	return !m.rollouts.now.Before(ends)
}

// isKept reports whether a task is of the deployment that the traffic comes from, and stays as long as it may have to go back.
func (p *planner) isKept(r *replica) bool {
	return p.s.Shift.IsOn() && r.Service.Deployment == p.s.Shift.From
}

// isReplaced reports whether a task is to go as soon as current ones have taken its place.
func (p *planner) isReplaced(r *replica) bool { return isOutdated(r) && !p.isKept(r) }

// startKept makes good what the deployment that the traffic comes from has lost, and what is not fit any more.
func (p *planner) startKept() {
	from, r := p.s.Deployment(p.s.Shift.From), p.rollouts.current()
	if !p.s.Shift.IsOn() || from == nil || r == nil || r.Rollback != nil || p.f.Limit != "" {
		return
	}
	if held := heldUntil(from); held.After(p.now) {
		p.rules.wakeAt(held)
		return
	}
	room := max(p.s.MaxTasks(), p.s.Desired) + p.s.Desired - p.live.count(isAny) - len(p.step.Starts)
	p.startTasks(from, min(p.s.Desired-p.live.count(p.isKeptFit), room, maxStepTasks-len(p.step.Starts)))
}

// stopKept stops the tasks of the deployment that the traffic comes from that are too many: since the service was scaled in, or since others are
// healthy in place of those that are not fit. A pause may last for days, in which the service is run as ever.
func (p *planner) stopKept() {
	for _, r := range p.live.stopOrder(p.isKept) {
		spare := p.live.count(func(r *replica) bool { return r.healthy && p.isKeptFit(r) }) - p.s.Desired
		if !r.fit && spare >= 0 || r.healthy && spare > 0 || r.fit && !r.healthy && p.live.count(p.isKeptFit) > p.s.Desired {
			p.stops.stop(r, p.rules.reason(r, p.stops.scaling()), r.unhealthy)
		}
	}
}

func (p *planner) isKeptFit(r *replica) bool { return r.fit && p.isKept(r) }
