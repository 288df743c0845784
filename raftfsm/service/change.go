package service

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Change is an update of a service; members that are nil stay.
type Change struct {
	Desired  *int
	Settings *Settings // whole
	Revision *Revision // with a Rollout: a new deployment
	Rollout  *Rollout

	// What the update was made from: of another one Settings or Revision are refused. nil and empty: whatever there is.
	Before *Settings `level:"1"` // of Settings
	From   string    `level:"1"` // of Revision: the id of the PRIMARY deployment
}

// Why a service is not changed. They are wrapped with its name.
var (
	ErrScaled      = fmt.Errorf("%w: it is scaled above 0: set its desired count to 0 first, or use force", spec.ErrInUse)
	ErrRolloutOver = errors.New("the rollout is not in progress any more")
	ErrNotPaused   = errors.New("it does not wait for an answer, or not any more")
	ErrNoRollback  = errors.New("no other deployment of the service was ever completed: there is none to go back to")
	ErrTooMany     = fmt.Errorf("%w: a cluster may have %d services", spec.ErrLimit, MaxServices)
	ErrChanged     = errors.New("another update of the service came between")
	ErrDaemon      = errors.New("a DAEMON service has a task on each host: it cannot be scaled")
	ErrHasServices = fmt.Errorf("%w: it has services that are not INACTIVE: delete them first", spec.ErrInUse)
)

// Update changes a service that is the caller's own copy, but for the deployment that begins. ErrChanged, ErrExternal.
func (s *Service) Update(c Change) error {
	switch {
	case c.Revision != nil && s.IsExternal():
		return ErrExternal
	case c.Settings != nil && c.Before != nil && !sameSettings(c.Before, &s.Settings):
		return ErrChanged
	case c.Revision != nil && c.From != "" && c.From != s.Primary().ID:
		return ErrChanged
	}
	if c.Desired != nil {
		s.Desired = *c.Desired
	}
	if c.Settings != nil {
		s.Settings = *c.Settings
	}
	return nil
}

// sameSettings compares settings as they are recorded: an empty list is none.
func sameSettings(a, b *Settings) bool {
	one, err1 := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}

// Begin makes a deployment of the revision the PRIMARY one of a service that is the caller's own copy. Those before it are replaced.
func (s *Service) Begin(revision *Revision, rollout *Rollout) {
	at, source := rollout.CreatedAt, ""
	if len(s.Deployments) > 0 && !s.Shift.IsFirst() { // what waits for its first answer is nothing to go on from
		source = s.Source().ID
	}
	before := slices.Clone(s.Deployments)
	for i := range before {
		if before[i].Status == Primary {
			before[i].Status, before[i].UpdatedAt = Replaced, at
		}
	}
	s.Deployments = append([]Deployment{{
		ID: revision.ID, Rollout: rollout.ID, Definition: revision.Definition, Status: Primary, State: InProgress,
		Reason: fmt.Sprintf("ECS deployment %s in progress.", DeploymentName(revision.ID)), CreatedAt: at, UpdatedAt: at,
	}}, before...)
	s.beginShift(source, at)
	s.bound()
}

// bound drops the oldest deployments beyond MaxDeployment, but for the one that a rollback goes back to.
func (s *Service) bound() {
	last := s.LastCompleted()
	for i := len(s.Deployments) - 1; i > 0 && len(s.Deployments) > MaxDeployment; i-- {
		if (last == nil || s.Deployments[i].ID != last.ID) && s.Deployments[i].ID != s.Shift.From {
			s.Deployments = slices.Delete(s.Deployments, i, i+1)
			last = s.LastCompleted()
		}
	}
}

// LastCompleted is the newest replaced deployment that was COMPLETED once, to which a rollback goes back; nil when there is none.
func (s *Service) LastCompleted() *Deployment {
	for i := range s.Deployments {
		if i > 0 && s.Deployments[i].WasCompleted {
			return &s.Deployments[i]
		}
	}
	return nil
}

// RollBack makes the last deployment that was COMPLETED the PRIMARY one again, in a service that is the caller's own copy, and gives the
// rollout as it is then. The PRIMARY one before FAILED. ErrRolloutOver, ErrNoRollback.
func (s *Service) RollBack(r *Rollout, reason string, at time.Time) (*Rollout, error) {
	last := s.LastCompleted()
	switch {
	case r.IsFinished() || r.Rollback != nil || r.ID != s.Primary().Rollout:
		return nil, ErrRolloutOver
	case last == nil:
		return nil, ErrNoRollback
	}
	back, failed := *last, *s.Primary()
	back.Rollout, back.Status, back.State, back.UpdatedAt = r.ID, Primary, InProgress, at
	back.Reason = fmt.Sprintf("ECS deployment %s in progress.", DeploymentName(back.ID))
	back.Failures, back.Waves, back.LastFailure, back.Impaired = 0, 0, time.Time{}, false
	failed.Status, failed.State, failed.Reason, failed.UpdatedAt = Replaced, Failed, reason, at
	others := slices.DeleteFunc(slices.Clone(s.Deployments[1:]), func(d Deployment) bool { return d.ID == back.ID })
	s.Deployments = append([]Deployment{back, failed}, others...)
	s.shiftBack(failed.ID, at)
	changed := *r
	changed.Status, changed.Reason, changed.UpdatedAt = RolloutRollbackInProgress, reason, at
	changed.Rollback = &Rollback{Revision: back.ID, Reason: reason, StartedAt: at}
	changed.failPauses()
	return &changed, nil
}

// End is the rollout with its last status.
func (r *Rollout) End(status RolloutStatus, reason string, at time.Time) *Rollout {
	ended := *r
	ended.Status, ended.Reason, ended.UpdatedAt, ended.FinishedAt = status, reason, at, at
	if status == RolloutStopped {
		ended.StoppedAt = at
	}
	ended.failPauses()
	return &ended
}

// DeploymentName is ECS's id of a deployment, also what its tasks are started by.
func DeploymentName(id string) string { return "ecs-svc/" + id }
