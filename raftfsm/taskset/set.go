// Package taskset has the task sets of services whose deployment controller is EXTERNAL, how the state keeps them, and the commands that change
// them. Package raftfsm registers both. A task set is a deployment of its service (service.Deployment, with the same id), which has its tasks and
// their revision; here is what its deployment does not say.
//
// A task set is a deployment. Those of an EXTERNAL service are in its list of deployments, with a revision each; taskset.Set has their scale and
// tags. What asks a service for its deployments (routing, definitions, limits) asks nothing else for task sets. One goes with its last task, in
// the step that finds it without any.
package taskset

import (
	"errors"
	"fmt"
	"math"

	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Set is a task set: tasks of one revision, as many as a part of the desired count of its service. ECS's id of it is ecs-svc/ID.
type Set struct {
	ID        string         `json:"id"`      // 19 digits; that of its deployment and of its revision
	ServiceID string         `json:"service"` // service.Service.ID
	Cluster   string         `json:"cluster"`
	Service   string         `json:"name"`  // service.Service.Name
	Scale     scaling.Number `json:"scale"` // percent of the desired count, 0 to 100

	ExternalID string     `json:"externalId,omitempty"` // echoed
	Token      string     `json:"token,omitempty"`      // client token of the request that made it
	Asked      string     `json:"asked,omitempty"`      // hash of that request
	Tags       []spec.Tag `json:"tags,omitempty"`
}

// Why a task set is not changed. They are wrapped with its name.
var (
	ErrUnknown     = fmt.Errorf("the service has no such task set: %w", spec.ErrNotFound)
	ErrDraining    = errors.New("the task set is DRAINING: it was deleted")
	ErrScaled      = fmt.Errorf("%w: it is scaled above 0: scale it to 0 first, or use force", spec.ErrInUse)
	ErrPrimary     = fmt.Errorf("%w: it is the PRIMARY task set: make another one PRIMARY first, or use force", spec.ErrInUse)
	ErrTooMany     = fmt.Errorf("%w: a service may have %d task sets", spec.ErrLimit, service.MaxTaskSets)
	ErrClientToken = fmt.Errorf("%w: a task set was made with the client token", spec.ErrInUse)
)

// ByID has all task sets.
var ByID = table.By(func(s *Set) string { return s.ID })

// Find is a task set by its id, nil when there is none.
func Find(r table.Reader, id string) *Set { return ByID.Get(r, sortkey.Key{First: id}) }

// roundingError bounds the error of a product of floating point numbers.
const roundingError = 1e-9

// Count returns the set's part of a desired count, rounded up.
func (s *Set) Count(desired int) int {
	return int(math.Ceil(float64(desired)*s.Scale.Float()/100 - roundingError))
}

// Desired returns the desired count of the deployment of the set: ECS's computed desired count. A DRAINING one has none, and so has one of a nil set.
func (s *Set) Desired(of *service.Service, d *service.Deployment) int {
	if s == nil || d.Status == service.DrainingSet || of.Status != service.Active {
		return 0
	}
	return s.Count(of.Desired)
}
