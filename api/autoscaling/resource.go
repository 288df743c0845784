package autoscaling

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pinion/api/auth"
	"pinion/api/httpx"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// The one kind of resource that can be scaled.
const (
	namespace = "ecs"
	dimension = "ecs:service:DesiredCount"
)

// resource is how inputs name a service.
type resource struct {
	ServiceNamespace  string `json:"ServiceNamespace"`
	ResourceID        string `json:"ResourceId"`
	ScalableDimension string `json:"ScalableDimension"`
}

// resourceID names a service: service/CLUSTER/NAME.
func resourceID(cluster, name string) string { return "service/" + cluster + "/" + name }

// parse reads the cluster and the name of the service.
func (in *resource) parse() (cluster, name string, err error) {
	if in.ServiceNamespace != namespace || in.ScalableDimension != dimension {
		return "", "", errInvalid("Unsupported service namespace, resource type or scalable dimension: Pinion scales services, with ServiceNamespace %s and ScalableDimension %s", namespace, dimension)
	}
	parts := strings.Split(in.ResourceID, "/")
	if len(parts) != 3 || parts[0] != "service" || parts[1] == "" || parts[2] == "" {
		return "", "", errInvalid("Unsupported service namespace, resource type or scalable dimension: ResourceId must be service/CLUSTER/SERVICE, not %q", in.ResourceID)
	}
	return parts[1], parts[2], nil
}

// errNoTarget and its like are in AWS's words, which clients match.
func (in *resource) errNoTarget() error {
	return wire.Errorf(objectNotFound, "No scalable target registered for %s", in.where())
}

func (in *resource) errNo(kind, name string) error {
	return wire.Errorf(objectNotFound, "No %s found for %s: %s", kind, in.where(), name)
}

func (in *resource) where() string {
	return fmt.Sprintf("service namespace: %s, resource ID: %s, scalable dimension: %s", in.ServiceNamespace, in.ResourceID, in.ScalableDimension)
}

// Scalable finds a service that the caller may scale, which is whoever may change its desired count; nil when it has none to know of.
// This is the one place where that is decided.
func Scalable(p auth.Principal, v *raftfsm.View, cluster, name string) (*service.Service, error) {
	if err := p.RequireCluster(cluster); err != nil {
		return nil, err
	}
	s := v.Service(cluster, name)
	if s == nil || s.Status != service.Active || !p.SeesService(s) {
		return nil, nil
	}
	return s, auth.CheckAccount(p.ARN, p.Grant, p.Owner, s)
}

func (r *Request) scalable(cluster, name string) (*service.Service, error) {
	return Scalable(r.Principal, r.View, cluster, name)
}

// change changes the scaling of a service that the caller may scale.
func (r *Request) change(ctx context.Context, in *resource, change scaling.Change) (*scaling.Target, error) {
	cluster, name, err := in.parse()
	if err != nil {
		return nil, err
	}
	s, err := r.scalable(cluster, name)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, in.errNoService(change)
	}
	answer, err := r.Store.Propose(ctx, raftfsm.Wrap(scaling.ChangeTarget{Cluster: cluster, Service: name, Change: change, ID: httpx.NewUUID(), At: r.Now()}))
	switch {
	case err == nil:
		return answer.(*scaling.Target), nil
	case errors.Is(err, scaling.ErrNoPolicy):
		return nil, in.errNo("scaling policy", change.DeletePolicy)
	case errors.Is(err, scaling.ErrNoAction):
		return nil, in.errNo("scheduled action", change.DeleteAction)
	case errors.Is(err, scaling.ErrNoTarget):
		return nil, in.errNoTarget()
	case errors.Is(err, spec.ErrNotFound), errors.Is(err, spec.ErrInactive): // since it was looked up
		return nil, in.errNoService(change)
	case errors.Is(err, spec.ErrLimit):
		return nil, wire.Errorf(limitExceeded, "%v.", err)
	case errors.Is(err, scaling.ErrRange):
		return nil, errInvalid("Maximum capacity cannot be less than minimum capacity")
	case errors.Is(err, scaling.ErrNoCapacities), errors.Is(err, service.ErrDaemon):
		return nil, errInvalid("%v.", err)
	}
	return nil, err
}

func (in *resource) errNoService(change scaling.Change) error {
	if change.Register != nil {
		return errInvalid("ECS service doesn't exist: %s", in.ResourceID)
	}
	return in.errNoTarget()
}
