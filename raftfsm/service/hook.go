package service

import (
	"fmt"
	"slices"
	"time"
)

// Hook is a lifecycle hook of deployments with ECS's target type PAUSE: a deployment that reaches one of its stages waits there until somebody
// has it go on or rolls it back.
type Hook struct {
	Stages  []Stage      `json:"stages"` // of PauseStages
	Timeout *HookTimeout `json:"timeout,omitempty"`
}

// HookTimeout is the action for a deployment that nobody continues in time.
type HookTimeout struct {
	Minutes int        `json:"minutes,omitempty"` // 0: ECS's, a day
	Action  HookAction `json:"action,omitempty"`  // empty: ECS's, ROLLBACK
}

// HookAction is an answer to a hook, ECS's.
type HookAction string

// Actions of hooks.
const (
	HookContinue HookAction = "CONTINUE"
	HookRollback HookAction = "ROLLBACK"
)

// HookStatus is ECS's.
type HookStatus string

// Statuses of a pause. One that FAILED was answered with ROLLBACK, or its rollout ended in another way.
const (
	HookAwaiting  HookStatus = "AWAITING_ACTION"
	HookSucceeded HookStatus = "SUCCEEDED"
	HookFailed    HookStatus = "FAILED"
	HookTimedOut  HookStatus = "TIMED_OUT"
)

// Bounds of hooks, ECS's.
const (
	MaxHooks          = 10     // of a service
	MaxHookMinutes    = 20_160 // of a timeout, 14 days
	defaultHookAction = HookRollback
	defaultHookTime   = 24 * time.Hour
)

// PauseStages are the stages at which a deployment can be paused, in their order.
var PauseStages = []Stage{StageReconcile, StagePreScaleUp, StagePostScaleUp, StagePostTestTraffic, StagePreProduction, StagePostProduction}

// RollingPauseStages are those of a deployment that moves no traffic.
var RollingPauseStages = []Stage{StageReconcile, StagePreScaleUp, StagePostScaleUp}

// Ends returns the time at which a pause that begins now times out, and the action then.
func (h *Hook) Ends(now time.Time) (at time.Time, action HookAction) {
	at, action = now.Add(defaultHookTime), defaultHookAction
	if h.Timeout != nil && h.Timeout.Minutes != 0 {
		at = now.Add(time.Duration(h.Timeout.Minutes) * time.Minute)
	}
	if h.Timeout != nil && h.Timeout.Action != "" {
		action = h.Timeout.Action
	}
	return at, action
}

// HooksAt are the hooks of a stage.
func (c *DeploymentConfiguration) HooksAt(stage Stage) (all []Hook) {
	for _, h := range c.Hooks {
		if slices.Contains(h.Stages, stage) {
			all = append(all, h)
		}
	}
	return all
}

// Pause is one time that a hook has paused a rollout.
type Pause struct {
	ID        string     `json:"id"` // ECS's hookId
	Stage     Stage      `json:"stage"`
	Status    HookStatus `json:"status"`
	ExpiresAt time.Time  `json:"expiresAt"`
	Action    HookAction `json:"action"` // taken then, when nobody has answered
}

// Paused reports whether the rollout waits for an answer.
func (r *Rollout) Paused() bool {
	return slices.ContainsFunc(r.Pauses, func(p Pause) bool { return p.Status == HookAwaiting })
}

// PausedAt reports whether the rollout was paused at a stage, the last one at which it was.
func (r *Rollout) PausedAt(stage Stage) bool { return len(r.Pauses) > 0 && r.Pauses[0].Stage == stage }

// Pause is the rollout paused by the hooks of a stage, in place of the stage before. newID makes 32 hex digits.
func (r *Rollout) Pause(stage Stage, newID func() string, at time.Time) *Rollout {
	paused := *r
	paused.Pauses, paused.UpdatedAt = nil, at
	for _, h := range r.Configuration.HooksAt(stage) {
		expires, action := h.Ends(at)
		paused.Pauses = append(paused.Pauses, Pause{ID: "ecs-pause-" + newID(), Stage: stage, Status: HookAwaiting, ExpiresAt: expires, Action: action})
	}
	return &paused
}

// answer gives a pause that waits another status, in a rollout that is the caller's own copy.
func (r *Rollout) answer(id string, status HookStatus) (Pause, error) {
	i := slices.IndexFunc(r.Pauses, func(p Pause) bool { return p.ID == id && p.Status == HookAwaiting })
	if i < 0 {
		return Pause{}, fmt.Errorf("hook %s: %w", id, ErrNotPaused)
	}
	r.Pauses = slices.Clone(r.Pauses)
	r.Pauses[i].Status = status
	return r.Pauses[i], nil
}

// Expire is the rollout with the pauses TIMED_OUT whose time is over, and these; nil when there is none.
func (r *Rollout) Expire(now time.Time) (expired *Rollout, over []Pause) {
	after := *r
	for _, p := range r.Pauses {
		if p.Status != HookAwaiting || now.Before(p.ExpiresAt) {
			continue
		}
		p, _ = after.answer(p.ID, HookTimedOut) // it waits
		over = append(over, p)
	}
	if after.UpdatedAt = now; len(over) == 0 {
		return nil, nil
	}
	return &after, over
}

// Message is the event that tells how a pause of a deployment of a service was answered. deployment is its id.
func (p Pause) Message(s *Service, deployment, by string) string {
	if p.Status == HookSucceeded {
		return fmt.Sprintf("(service %s) (deployment %s) goes on from %s: %s has continued it.", s.Name, DeploymentName(deployment), p.Stage, by)
	}
	return fmt.Sprintf("(service %s) (deployment %s) rolling back to (deployment %s): %s asked for it at %s.", s.Name, DeploymentName(deployment), DeploymentName(s.Primary().ID), by, p.Stage)
}

// failPauses ends the pauses of a rollout that goes back or ends, in a copy of the caller's own.
func (r *Rollout) failPauses() {
	r.Pauses = slices.Clone(r.Pauses)
	for i := range r.Pauses {
		if r.Pauses[i].Status == HookAwaiting {
			r.Pauses[i].Status = HookFailed
		}
	}
}

// Answer has a rollout of the service, which is the caller's own copy, go on from a pause, or rolls it back, and gives the rollout as it is then,
// and what was answered. by is who has asked for it. ErrRolloutOver, ErrNotPaused, ErrNoRollback.
func (s *Service) Answer(r *Rollout, hook string, action HookAction, by string, at time.Time) (*Rollout, Pause, error) {
	if r.IsFinished() || r.Rollback != nil || r.ID != s.Primary().Rollout {
		return nil, Pause{}, ErrRolloutOver
	}
	answered := *r
	status := HookSucceeded
	if action == HookRollback {
		status = HookFailed
	}
	pause, err := answered.answer(hook, status)
	if err != nil {
		return nil, Pause{}, err
	}
	if answered.UpdatedAt = at; action != HookRollback {
		return &answered, pause, nil
	}
	back, err := s.RollBack(&answered, fmt.Sprintf("Service deployment rolled back at %s because %s asked for it.", pause.Stage, by), at)
	return back, pause, err
}
