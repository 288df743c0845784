package service

import "time"

// DeploymentStatus is the status of a deployment among those of its service, ECS's.
type DeploymentStatus string

// Statuses of a deployment.
const (
	Primary  DeploymentStatus = "PRIMARY"
	Replaced DeploymentStatus = "ACTIVE" // its tasks are being replaced; of a task set: it is not the PRIMARY one

	DrainingSet DeploymentStatus = "DRAINING" // of a task set that is deleted: its tasks are stopped, and it goes with the last of them
)

// RolloutState is ECS's.
type RolloutState string

// States of a deployment.
const (
	InProgress RolloutState = "IN_PROGRESS"
	Completed  RolloutState = "COMPLETED" // of a task set, which can be IN_PROGRESS again: it is steady
	Failed     RolloutState = "FAILED"    // the circuit breaker launches no more tasks of it
)

// Deployment is the tasks of one revision of a service, and how far they have got. ECS's deployment, ecs-svc/ID.
type Deployment struct {
	ID         string           `json:"id"`         // 19 digits; that of its Revision
	Rollout    string           `json:"rollout"`    // Rollout.ID: the one that it began with, or that was rolled back to it
	Definition string           `json:"definition"` // of its revision, family:revision
	Status     DeploymentStatus `json:"status"`
	State      RolloutState     `json:"state"`
	Reason     string           `json:"reason,omitempty"` // for the state, ECS's sentence

	// Failures are the tasks that failed since the last one that was healthy, or since it began when the breaker counts all; FailedTasks are all.
	Failures    int       `json:"failures,omitempty"`
	FailedTasks int       `json:"failedTasks,omitempty"`
	Waves       int       `json:"waves,omitempty"`      // of failures without a healthy task between: tasks that were launched together fail in one
	LastFailure time.Time `json:"lastFailure,omitzero"` // of a wave, when it was noted: from then on the next launch is held back
	Impaired    bool      `json:"impaired,omitempty"`   // an event has said that its tasks cannot start

	WasCompleted bool      `json:"wasCompleted,omitempty"` // a rollback may go back to it
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`

	Conditions Conditions `json:"said,omitzero" level:"1"` // of a task set, as Service.Conditions
}

// DeploymentConfiguration has the rules by which tasks of one revision replace those of another.
type DeploymentConfiguration struct {
	MinimumHealthyPercent *int            `json:"minimumHealthyPercent,omitempty"` // of Desired, rounded up; nil: 100, of a DAEMON 0
	MaximumPercent        *int            `json:"maximumPercent,omitempty"`        // of Desired, rounded down; nil: 200, of a DAEMON 100
	Breaker               *CircuitBreaker `json:"deploymentCircuitBreaker,omitempty"`

	Strategy    string `json:"strategy,omitempty" level:"1"`          // empty: ROLLING
	BakeMinutes *int   `json:"bakeTimeInMinutes,omitempty" level:"1"` // of the strategies that move traffic; of a daemon see BakeTime
	Steps       *Steps `json:"steps,omitempty" level:"1"`             // of LINEAR and CANARY; nil: ECS's

	Hooks []Hook `json:"hooks,omitempty" level:"1"`

	DrainPerMille *int `json:"drainPerMille,omitempty" level:"1"` // of Desired, of a daemon, in place of the percents above
}

// CircuitBreaker ends a deployment whose tasks keep failing.
type CircuitBreaker struct {
	Enable        bool       `json:"enable"`
	Rollback      bool       `json:"rollback"`
	ResetOnHealth *bool      `json:"resetOnHealthyTask,omitempty"` // nil: true; a healthy task sets the count to 0
	Threshold     *Threshold `json:"thresholdConfiguration,omitempty"`
}

// Threshold is the number of failures that trips a circuit breaker.
type Threshold struct {
	Type  string `json:"type"` // COUNT, BOUNDED_PERCENT or UNBOUNDED_PERCENT
	Value int    `json:"value"`
}

// Types of thresholds.
const (
	ThresholdCount     = "COUNT"
	ThresholdBounded   = "BOUNDED_PERCENT" // of Desired, between the bounds below; the default, with 50
	ThresholdUnbounded = "UNBOUNDED_PERCENT"

	defaultThreshold      = 50
	minThreshold          = 3
	maxThreshold          = 200
	defaultHealthyReplica = 100
	defaultMaximumReplica = 200
	defaultHealthyDaemon  = 0
	defaultMaximumDaemon  = 100
	percent               = 100
)

// MinHealthy returns the number of healthy tasks that a deployment leaves at least.
func (s *Service) MinHealthy() int {
	if c := &s.Settings.Deployment; c.DrainPerMille != nil {
		return max(0, s.Desired-c.drained(s.Desired))
	}
	healthy, _ := s.Settings.Deployment.Percents(s.Strategy)
	return (s.Desired*healthy + percent - 1) / percent
}

// MaxTasks returns the number of tasks that a deployment makes at most, those that it replaces counted in.
func (s *Service) MaxTasks() int {
	_, most := s.Settings.Deployment.Percents(s.Strategy)
	return s.Desired * most / percent
}

// Percents are the minimum healthy and the maximum percent of a service of that strategy.
func (c *DeploymentConfiguration) Percents(of Strategy) (healthy, most int) {
	healthy, most = defaultHealthyReplica, defaultMaximumReplica
	if of == Daemon {
		healthy, most = defaultHealthyDaemon, defaultMaximumDaemon
	}
	if c.MinimumHealthyPercent != nil {
		healthy = *c.MinimumHealthyPercent
	}
	if c.MaximumPercent != nil {
		most = *c.MaximumPercent
	}
	return healthy, most
}

// Threshold returns the number of failures that ends a deployment; 0: none does.
func (s *Service) Threshold() int {
	breaker := s.Settings.Deployment.Breaker
	if breaker == nil || !breaker.Enable {
		return 0
	}
	t := Threshold{Type: ThresholdBounded, Value: defaultThreshold}
	if breaker.Threshold != nil {
		t = *breaker.Threshold
	}
	if t.Type == ThresholdCount {
		return max(1, t.Value)
	}
	share := (s.Desired*t.Value + percent - 1) / percent
	if t.Type == ThresholdBounded {
		return min(max(share, minThreshold), maxThreshold)
	}
	return max(1, share)
}
