package rollout

import (
	"fmt"
	"time"

	"pinion/raftfsm/service"
)

// lifecycleHooks is the part of a step that pauses the rollout at its hooks.
type lifecycleHooks struct {
	rollouts *rollouts
	rules    *rules
	newID    func() string
}

// begin has the rollout wait at a stage for an answer to each of its hooks.
func (h lifecycleHooks) begin(r *service.Rollout, stage service.Stage) {
	o, paused := h.rollouts, r.Pause(stage, h.newID, h.rollouts.now)
	for _, pause := range paused.Pauses {
		o.events.addEvent("", "%s is paused at %s by %s. ContinueServiceDeployment or `pinion service continue %s` has it go on; without an answer by %s it %s.",
			deployment(o.s.Primary().ID), stage, pause.ID, o.s.Name, pause.ExpiresAt.UTC().Format(time.RFC3339), becomes(pause.Action))
		h.rules.wakeAt(pause.ExpiresAt)
	}
	o.put(paused)
}

// becomes says what an action makes of a deployment.
func becomes(action service.HookAction) string {
	if action == service.HookContinue {
		return "goes on"
	}
	return "is rolled back"
}

// expire does what is to be done about pauses that nobody has answered in time.
func (h lifecycleHooks) expire() {
	o, r := h.rollouts, h.rollouts.current()
	if r == nil || r.IsFinished() {
		return
	}
	for _, pause := range r.Pauses {
		if pause.Status == service.HookAwaiting {
			h.rules.wakeAt(pause.ExpiresAt)
		}
	}
	expired, over := r.Expire(o.now)
	if expired == nil {
		return
	}
	o.put(expired)
	for _, pause := range over {
		o.events.addEvent("", "%s was not answered at %s in time: %s %s.", pause.ID, pause.Stage, deployment(o.s.Primary().ID), becomes(pause.Action))
		if pause.Action == service.HookRollback {
			o.end(expired, true, fmt.Sprintf("Service deployment rolled back because it was not continued at %s in time.", pause.Stage))
			return
		}
	}
}

// wait reports whether the rollout waits for an answer.
func (h lifecycleHooks) wait() bool {
	r := h.rollouts.current()
	return r != nil && !r.IsFinished() && r.Paused()
}

// areAt reports whether the rollout is to be paused at a stage. One that goes back is not.
func (h lifecycleHooks) areAt(stage service.Stage) bool {
	r := h.rollouts.current()
	return r != nil && !r.IsFinished() && r.Rollback == nil && len(r.Configuration.HooksAt(stage)) > 0
}

// reconcile has a rollout that took the place of one under way wait for the hooks of RECONCILE_SERVICE, once; for others it is no stage to wait at.
func (h lifecycleHooks) reconcile() bool {
	r := h.rollouts.current()
	if len(h.rollouts.s.Deployments) <= 2 || !h.areAt(service.StageReconcile) || r.PausedAt(service.StageReconcile) {
		return false
	}
	h.begin(r, service.StageReconcile)
	return true
}

// complete has a ROLLING deployment, all of whose tasks are healthy, wait for the hooks of POST_SCALE_UP before it is complete, as long as there is one to
// go back to.
func (h lifecycleHooks) complete() bool {
	r := h.rollouts.current()
	if !h.areAt(service.StagePostScaleUp) || r.Configuration.Shifts() || h.rollouts.s.LastCompleted() == nil {
		return false
	}
	if !r.PausedAt(service.StagePostScaleUp) {
		h.begin(r, service.StagePostScaleUp)
		return true
	}
	return r.Paused()
}
