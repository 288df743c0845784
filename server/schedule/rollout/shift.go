package rollout

import (
	"strconv"
	"time"

	"pinion/raftfsm/service"
)

// trafficMove is the part of a step that moves traffic.
type trafficMove struct{ p *planner }

// advance takes the move of traffic to the PRIMARY deployment one stage, or one step of traffic, on. The tasks that the traffic comes from are
// kept until it is over, so that it can go back at any moment; it goes on only while all tasks of the PRIMARY deployment are healthy.
func (m trafficMove) advance() {
	p, shift := m.p, &m.p.s.Shift
	if !shift.IsOn() {
		return
	}
	from, r := p.s.Deployment(shift.From), p.rollout()
	ready := p.live.count(isCurrentHealthy) >= p.s.Desired
	switch {
	case from == nil || r != nil && r.Rollback != nil && ready:
		*shift = service.Shift{}
	case r != nil && r.Rollback != nil:
	case shift.Stage == service.StageReconcile:
		m.nextStage(from)
	case p.s.Primary().State == service.Failed, p.live.count(isCurrentHealthy) == 0 && p.s.Desired > 0:
		m.takeBack()
	case ready:
		m.nextStage(from)
	}
}

// takeBack has all of the traffic be that of the deployment that it came from: no task of the PRIMARY one is healthy.
func (m trafficMove) takeBack() {
	p, shift := m.p, &m.p.s.Shift
	if shift.Stage == service.StageScaleUp {
		return
	}
	if shift.PerMille > 0 {
		p.journal.say("", "%s has all of the production traffic again: %s has no healthy task.", deployment(shift.From), deployment(p.s.Primary().ID))
	}
	m.enter(service.StageScaleUp, 0)
}

func (m trafficMove) enter(stage service.Stage, perMille int) {
	m.p.s.Shift.Stage, m.p.s.Shift.PerMille, m.p.s.Shift.Since = stage, perMille, m.p.now
}

// nextStage is what comes after a stage whose tasks are ready.
func (m trafficMove) nextStage(from *service.Deployment) {
	p, shift, how := m.p, &m.p.s.Shift, &m.p.s.Settings.Deployment
	switch shift.Stage {
	case service.StageReconcile:
		p.journal.say("", "%s starts its %d tasks beside those of %s, which serve until all of the traffic has moved (%s): both need their room at once.",
			deployment(p.s.Primary().ID), p.s.Desired, deployment(from.ID), how.StrategyName())
		m.enter(service.StageScaleUp, 0)
	case service.StageScaleUp:
		m.enter(service.StageTestTraffic, 0)
	case service.StageTestTraffic:
		m.enter(service.StageProduction, 0)
	case service.StageProduction:
		if shift.PerMille == service.AllTraffic {
			m.enter(service.StageBake, service.AllTraffic)
		} else if shift.PerMille == 0 || m.isAfter(how.StepBake()) {
			m.enter(service.StageProduction, how.NextTraffic(shift.PerMille))
			percent := strconv.FormatFloat(float64(shift.PerMille)/10, 'f', -1, 64)
			p.journal.say("", "%s has %s %% of the production traffic.", deployment(p.s.Primary().ID), percent)
		}
	case service.StageBake:
		if m.isAfter(how.BakeTime()) {
			*shift = service.Shift{}
		}
	}
}

// isAfter reports whether the stage or step goes on for so long already.
func (m trafficMove) isAfter(pause time.Duration) bool {
	ends := m.p.s.Shift.Since.Add(pause)
	m.p.rules.wakeAt(ends)
	return !m.p.now.Before(ends)
}

// isKept reports whether a task is of the deployment that the traffic comes from, and stays as long as it may have to go back.
func (p *planner) isKept(r *replica) bool {
	return p.s.Shift.IsOn() && r.Service.Deployment == p.s.Shift.From
}

// isReplaced reports whether a task is to go as soon as current ones have taken its place.
func (p *planner) isReplaced(r *replica) bool { return isOutdated(r) && !p.isKept(r) }

// startKept makes good what the deployment that the traffic comes from has lost.
func (m trafficMove) startKept() {
	p := m.p
	from, r := p.s.Deployment(p.s.Shift.From), p.rollout()
	if !p.s.Shift.IsOn() || from == nil || r == nil || r.Rollback != nil || p.f.Limit != "" {
		return
	}
	if held := heldUntil(from); held.After(p.now) {
		p.rules.wakeAt(held)
		return
	}
	room := max(p.s.MaxTasks(), p.s.Desired) + p.s.Desired - p.live.count(isAny) - len(p.step.Starts)
	p.startTasks(from, min(p.s.Desired-p.live.count(p.isKept), room, maxStepTasks-len(p.step.Starts)))
}
