package rollout

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// maxNamed is how many tasks an event names.
const maxNamed = 10

// eventRecorder is the events of a step.
type eventRecorder struct {
	of     string // "service NAME", and for one of its task sets ", taskSet ecs-svc/ID"
	now    time.Time
	newID  func() string
	steady service.Action // of the event that says that it is steady
	events []service.Event
}

// addEvent adds an event in ECS's form: "(service NAME) ...".
func (j *eventRecorder) addEvent(action service.Action, format string, a ...any) {
	j.events = append(j.events, service.Event{
		ID: uuid(j.newID()), At: j.now, Action: action, Message: fmt.Sprintf("(%s) ", j.of) + fmt.Sprintf(format, a...),
	})
}

// once says something when it begins to be so, and remembers whether it is.
func (j *eventRecorder) once(said *bool, is bool, action service.Action, format string, a ...any) {
	if is && !*said {
		j.addEvent(action, format, a...)
	}
	*said = is
}

// uuid is an id of 32 hex digits in the form of a UUID.
func uuid(id string) string {
	return fmt.Sprintf("%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:])
}

// deployment names a deployment in an event.
func deployment(id string) string { return fmt.Sprintf("(deployment %s)", service.DeploymentName(id)) }

func named(ids []string) string {
	var text strings.Builder
	for i, id := range ids {
		if i == maxNamed {
			fmt.Fprintf(&text, " and %d more", len(ids)-i)
			break
		}
		fmt.Fprintf(&text, " (task %s)", id)
	}
	return text.String()
}

func (j *eventRecorder) started(tasks []*spec.Task) {
	var ids []string
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	j.addEvent("", "has started %d tasks:%s.", len(ids), named(ids))
}

// stopped tells which tasks the step stops, those that run and the others.
func (j *eventRecorder) stopped(all replicas) {
	var running, others []string
	for _, r := range all {
		switch {
		case !r.stopped || r.told:
		case r.LastStatus == spec.Running:
			running = append(running, r.ID)
		default:
			others = append(others, r.ID)
		}
	}
	if len(running) > 0 {
		j.addEvent("", "has stopped %d running tasks:%s.", len(running), named(running))
	}
	if len(others) > 0 {
		j.addEvent("", "has stopped %d pending tasks:%s.", len(others), named(others))
	}
}

// unhealthy tells why the step stops tasks whose targets are unhealthy, each reason once and maxNamed at most.
func (j *eventRecorder) unhealthy(all replicas, rules *rules) {
	said := map[string]bool{}
	for _, r := range all {
		if !r.stopped || !r.unhealthy || len(said) == maxNamed {
			continue
		}
		if b, found := rules.unhealthyTarget(r.Task); found != nil {
			why := fmt.Sprintf("(port %d) is unhealthy in (target-group %s) due to (reason %s).", b.Port, b.GroupARN(), cmp.Or(found.Detail, "Health checks failed"))
			if !said[why] {
				j.addEvent("", "%s", why)
			}
			said[why] = true
		}
	}
}

func (j *eventRecorder) impaired() {
	j.addEvent(service.ActionStartImpaired, "is unable to consistently start tasks successfully. For more information, see the Troubleshooting section of the Amazon ECS Developer Guide.")
}

func (j *eventRecorder) failed(d *service.Deployment) {
	j.addEvent("", "%s deployment failed: tasks failed to start.", deployment(d.ID))
}

// recordUnplaced says why a task has no place, unless the service makes room for it.
func (p *planner) recordUnplaced() {
	first, why := p.live.firstWithoutPlace(), ""
	if !p.s.Conditions.Unplaced && first != nil {
		if p.live.count(p.isReplaced)+len(p.step.Stops)+p.stopping > 0 && p.isMoving() {
			return
		}
		why = p.f.NoPlace(first)
	}
	p.events.once(&p.s.Conditions.Unplaced, first != nil, service.ActionNotPlaced,
		"was unable to place a task because no container instance met all of its requirements. %s", why)
}

// recordBlocked says that the rollout waits for room, and what makes it go on.
func (p *planner) recordBlocked(blocked bool) {
	p.events.once(&p.s.Conditions.Blocked, blocked, service.ActionNotPlaced,
		"%s waits for room: its tasks find none beside the %d that are healthy, and minimumHealthyPercent lets it stop none of these. "+
			"It goes on when there is room, with a lower minimumHealthyPercent, or with the tag %s=%s, which stops %d of them at a time.",
		deployment(p.s.Primary().ID), p.live.count(isHealthy), service.TagRollout, service.StopFirst, max(1, p.s.Desired/slowest))
}

// recordSteady says that the service is what it is to be: when it is so again, and from time to time.
func (p *planner) recordSteady() {
	said := &p.s.Conditions.Steady
	steady := p.s.Primary().State == service.Completed && p.isAtRest() && p.live.count(isCurrentHealthy) == p.s.Desired
	switch {
	case !steady:
		*said = time.Time{}
		return
	case said.IsZero() || !p.now.Before(said.Add(steadyInterval)):
		*said = p.now
		p.events.addEvent(p.events.steady, "has reached a steady state.")
	}
	p.rules.wakeAt(said.Add(steadyInterval))
}

// isAtRest reports whether there are as many tasks as there are to be, and none starts or stops by this step.
func (p *planner) isAtRest() bool {
	return p.stopping == 0 && len(p.step.Starts)+len(p.step.Stops) == 0 && p.live.count(isAny) == p.s.Desired
}
