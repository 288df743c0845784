package service

import "time"

// Event is something that happened to a service, in ECS's words where ECS has some.
type Event struct {
	ID      string    `json:"id"` // UUID
	At      time.Time `json:"at"`
	Message string    `json:"message"`
	Action  Action    `json:"action,omitempty"` // empty: ECS tells it in the service alone
}

// Action is the name of an ECS service action event.
type Action string

// Actions, verbatim from ECS.
const (
	ActionSteadyState     Action = "SERVICE_STEADY_STATE"
	ActionTaskSetSteady   Action = "TASKSET_STEADY_STATE"
	ActionStartImpaired   Action = "SERVICE_TASK_START_IMPAIRED"
	ActionNotPlaced       Action = "SERVICE_TASK_PLACEMENT_FAILURE"
	ActionDaemonDisplaced Action = "SERVICE_DAEMON_PLACEMENT_CONSTRAINT_VIOLATED"

	ActionRebalancing      Action = "SERVICE_REBALANCING_STARTED"
	ActionRebalanced       Action = "SERVICE_REBALANCING_COMPLETED"
	ActionRebalanceStopped Action = "SERVICE_REBALANCING_STOPPED"
	ActionTasksStarted     Action = "TASKS_STARTED" // to rebalance
	ActionTasksStopped     Action = "TASKS_STOPPED" // to rebalance
	ActionTasksProtected   Action = "TASKSET_SCALE_IN_FAILURE_BY_TASK_PROTECTION"
)

// EventChange is an event of a service, as the changelog tells it.
type EventChange struct {
	Service *Service
	Event   Event
}

// DeploymentChange is a deployment whose state has changed, as the changelog tells it.
type DeploymentChange struct {
	Service    *Service
	Deployment Deployment
}

// HookChange is a pause of a rollout whose status has changed, as the changelog tells it.
type HookChange struct {
	Rollout *Rollout
	Pause   Pause
}

// AddEvents adds events to those of the service, of which the newest stay.
func (s *Service) AddEvents(events ...Event) {
	all := append(append([]Event(nil), s.Events...), events...)
	s.Events = all[max(0, len(all)-MaxEvents):]
}
