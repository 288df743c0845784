package service

import "time"

// RolloutStatus is ECS's status of a service deployment.
type RolloutStatus string

// Statuses of a rollout.
const (
	RolloutInProgress         RolloutStatus = "IN_PROGRESS"
	RolloutSuccessful         RolloutStatus = "SUCCESSFUL"
	RolloutStopped            RolloutStatus = "STOPPED" // another one took its place, or the breaker ended it and nothing is rolled back
	RolloutRollbackRequested  RolloutStatus = "ROLLBACK_REQUESTED"
	RolloutRollbackInProgress RolloutStatus = "ROLLBACK_IN_PROGRESS"
	RolloutRollbackSuccessful RolloutStatus = "ROLLBACK_SUCCESSFUL"
	RolloutRollbackFailed     RolloutStatus = "ROLLBACK_FAILED"
)

// Rollout is the way of a service from one revision to another. ECS calls it a service deployment. Its record stays after the deployments
// that it was between are gone.
type Rollout struct {
	ID        string `json:"id"`      // 21 letters and digits, as in its ARN
	ServiceID string `json:"service"` // Service.ID
	Cluster   string `json:"cluster"`
	Service   string `json:"name"` // Service.Name

	Sources []RevisionCount `json:"sources,omitempty"` // when it began
	Target  RevisionCount   `json:"target"`
	Status  RolloutStatus   `json:"status"`
	Reason  string          `json:"reason,omitempty"`

	Configuration DeploymentConfiguration `json:"configuration"` // when it began
	Failures      int                     `json:"failures,omitempty"`
	Threshold     int                     `json:"threshold,omitempty"` // 0: no circuit breaker
	Tripped       bool                    `json:"tripped,omitempty"`
	Rollback      *Rollback               `json:"rollback,omitempty"`

	CreatedAt  time.Time `json:"createdAt"`
	StartedAt  time.Time `json:"startedAt"`
	UpdatedAt  time.Time `json:"updatedAt"`
	FinishedAt time.Time `json:"finishedAt,omitzero"`
	StoppedAt  time.Time `json:"stoppedAt,omitzero"`

	Pauses []Pause `json:"pauses,omitempty" level:"1"` // by the hooks of the last stage that has some
}

// Rollback is the revision that a rollout goes back to, and the reason.
type Rollback struct {
	Revision  string    `json:"revision"`
	Reason    string    `json:"reason"`
	StartedAt time.Time `json:"startedAt"`
}

// RevisionCount counts the tasks of a revision that are wanted, run and are on their way.
type RevisionCount struct {
	Revision  string `json:"revision"`
	Requested int    `json:"requested"`
	Running   int    `json:"running"`
	Pending   int    `json:"pending"`
}

// IsFinished reports whether nothing will change any more.
func (r *Rollout) IsFinished() bool {
	switch r.Status {
	case RolloutSuccessful, RolloutStopped, RolloutRollbackSuccessful, RolloutRollbackFailed:
		return true
	}
	return false
}
