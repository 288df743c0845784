package service

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Bounds of a service's record.
const (
	MaxDesired    = 5_000 // ECS's tasks of a service
	MaxServices   = 5_000 // of a cluster, ECS's
	MaxEvents     = 100   // ECS's; the newest stay
	MaxRollouts   = 100   // of a service that are remembered; the newest stay
	MaxDeployment = 10    // of a service that are listed; the tasks of older ones are replaced all the same
)

// Status is ECS's.
type Status string

// Statuses of a service. A DRAINING one has tasks that stop; an INACTIVE one is shown for a while, and its name is free.
const (
	Active   Status = "ACTIVE"
	Draining Status = "DRAINING"
	Inactive Status = "INACTIVE"
)

// Strategy is ECS's scheduling strategy.
type Strategy string

// Scheduling strategies.
const (
	Replica Strategy = "REPLICA" // Desired tasks, anywhere
	Daemon  Strategy = "DAEMON"  // one task on each ACTIVE host that meets the constraints; see also IsDaemon
)

// Service is a desired number of equal tasks in a cluster. It is changed by commands of package raftfsm alone, and Version counts the changes.
type Service struct {
	ID       string   `json:"id"` // 32 hex digits: a later service of the same name has another one
	Cluster  string   `json:"cluster"`
	Name     string   `json:"name"`
	Status   Status   `json:"status"`
	Strategy Strategy `json:"strategy"`
	Desired  int      `json:"desired"` // of a DAEMON: the hosts that it is for, as the reconciler found last
	Settings Settings `json:"settings"`

	// Deployments are the PRIMARY one, which is what the service is to be, and behind it those whose tasks it replaces, the newest first.
	// The last one that was COMPLETED stays until the PRIMARY one is: a rollback goes back to it. Those of an EXTERNAL service are its task sets.
	Deployments []Deployment `json:"deployments"`
	Events      []Event      `json:"events,omitempty"` // the oldest first, MaxEvents at most
	Tags        []spec.Tag   `json:"tags,omitempty"`

	Role       string          `json:"role,omitempty"` // echoed
	CreatedAt  time.Time       `json:"createdAt"`
	CreatedBy  string          `json:"createdBy"`       // ARN of the principal
	Owner      *spec.TaskOwner `json:"owner,omitempty"` // whose limits its tasks count for; nil: root's
	ByAdmin    bool            `json:"byAdmin,omitempty"`
	DeletedAt  time.Time       `json:"deletedAt,omitzero"` // when it became INACTIVE
	Conditions Conditions      `json:"said,omitzero"`
	Version    int64           `json:"version"` // 1 at first, +1 with each change
	Names      []Name          `json:"names,omitempty" level:"1"`
	Shift      Shift           `json:"shift,omitzero" level:"1"`

	Controller string `json:"controller,omitempty" level:"1"` // External; empty: ECS, which is Pinion itself
}

// Conditions are the conditions that events of a service have told of and that go on: each is told once, until it ends.
type Conditions struct {
	Steady   time.Time `json:"steady,omitzero"`    // when it was said last that the service is steady; zero: it is not
	Unplaced bool      `json:"unplaced,omitempty"` // a task waits without a place
	Blocked  bool      `json:"blocked,omitempty"`  // the rollout waits for room
	Limited  bool      `json:"limited,omitempty"`  // a limit refuses tasks

	Freed time.Time `json:"freed,omitzero" level:"1"` // when a task was noted that has left its place, last: the queue gives it to another

	Balance Balance `json:"balance,omitzero" level:"1"`
}

// Settings are the settings of a service for its tasks. Changing them starts no deployment.
type Settings struct {
	Deployment     DeploymentConfiguration             `json:"deployment"`
	Constraints    []spec.PlacementConstraint          `json:"constraints,omitempty"`
	Placement      []spec.PlacementStrategy            `json:"placement,omitempty"`
	Providers      []spec.CapacityProviderStrategyItem `json:"providers,omitempty"` // empty: the launch type of the revision
	GraceSeconds   *int                                `json:"graceSeconds,omitempty"`
	PropagateTags  string                              `json:"propagateTags,omitempty"` // TASK_DEFINITION, SERVICE or NONE
	ManagedTags    bool                                `json:"managedTags,omitempty"`
	ExecuteCommand bool                                `json:"executeCommand,omitempty"` // of the tasks that it starts: see spec.Task.Exec
	Rebalancing    string                              `json:"rebalancing,omitempty"`    // Rebalanced or NotRebalanced
}

// Revision is the immutable record from which the tasks of a deployment are made. It never changes.
type Revision struct {
	ID         string    `json:"id"`      // 19 digits, as in its ARN; that of its deployment
	ServiceID  string    `json:"service"` // Service.ID
	Cluster    string    `json:"cluster"`
	Service    string    `json:"name"`       // Service.Name
	Definition string    `json:"definition"` // family:revision; its status does not matter
	LaunchType string    `json:"launchType,omitempty"`
	CreatedAt  time.Time `json:"createdAt"`

	Providers []spec.CapacityProviderStrategyItem `json:"providers,omitempty"`

	LoadBalancers []LoadBalancer `json:"loadBalancers,omitempty" level:"1"`
	Connect       *Connect       `json:"connect,omitempty" level:"1"` // nil: no Service Connect

	Tagging *Tagging `json:"tagging,omitempty" level:"1"` // of a daemon; nil: Settings say it

	ExecuteCommand bool `json:"executeCommand,omitempty" level:"1"` // of a daemon, as Settings said it

	Subnets []string `json:"subnets,omitempty" level:"1"` // names of networks of tasks, sorted; empty: its tasks have no address of their own

	Critical bool `json:"critical,omitempty" level:"1"` // of a daemon: see IsCritical
}

// Constraints returns the placement constraints of the revision; nil has none.
func (r *Revision) Constraints() []spec.PlacementConstraint {
	if r == nil || len(r.Subnets) == 0 {
		return nil
	}
	return []spec.PlacementConstraint{spec.InSubnets(r.Subnets)}
}

// Targets are the ports of each task of the revision that get requests: of load balancers, and of Service Connect.
func (r *Revision) Targets() []LoadBalancer {
	return append(slices.Clip(r.LoadBalancers), r.Connect.Targets()...)
}

// Groups are the ids of the target groups that the tasks of the revision, or of the one that follows it, are registered with.
func (r *Revision) Groups() (ids []string) {
	for _, b := range r.LoadBalancers {
		for _, id := range []string{b.Group, b.Advanced.Group, b.Advanced.Alternate} {
			if id != "" && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Registers reports whether a target group is one of Groups.
func (r *Revision) Registers(group string) bool { return slices.Contains(r.Groups(), group) }

// MaxLoadBalancers of a service, ECS's.
const MaxLoadBalancers = 5

// LoadBalancer registers a container port of each task with a target group.
type LoadBalancer struct {
	Group     string `json:"group"` // loadbalancer.Group.ID
	ARN       string `json:"arn"`   // of the target group that the user named, as it was written
	Container string `json:"container"`
	Port      int    `json:"port"` // of the container

	Advanced Advanced `json:"advanced,omitzero" level:"1"` // of services whose deployments move traffic
}

// Primary is the deployment that the service is to be; an empty one of an EXTERNAL service that has no PRIMARY task set.
func (s *Service) Primary() *Deployment {
	if !s.IsExternal() {
		return &s.Deployments[0]
	}
	if i := slices.IndexFunc(s.Deployments, func(d Deployment) bool { return d.Status == Primary }); i >= 0 {
		return &s.Deployments[i]
	}
	return &Deployment{}
}

// Deployment finds one of the deployments by its id, nil when there is none.
func (s *Service) Deployment(id string) *Deployment {
	if i := slices.IndexFunc(s.Deployments, func(d Deployment) bool { return d.ID == id }); i >= 0 {
		return &s.Deployments[i]
	}
	return nil
}

// GroupPrefix begins the groups of the tasks of services, which no other task can have.
const GroupPrefix = "service:"
