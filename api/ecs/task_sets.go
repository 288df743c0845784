package ecs

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"pinion/api/auth"
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/placement"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/tags"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// Errors in ECS's words, which clients match.
var (
	errNoTaskSet        = wire.Errorf("TaskSetNotFoundException", "TaskSet not found.")
	errNotExternal      = field.Errorf("service", "Amazon ECS only supports task set management on services configured to use external deployment controllers.")
	errSetNotIdempotent = field.Errorf("clientToken", "Creation of task set was not idempotent.")
	errTooManySets      = field.Errorf("service", "%d deployments exist on the service. Unable to create new TaskSet since this exceeds the maximum limit.", service.MaxTaskSets)
)

// externalService finds the service that a request about its task sets names, and its cluster.
func externalService(r *Request, cluster, given string) (*spec.Cluster, *service.Service, error) {
	in, err := r.Cluster(cluster)
	if err != nil {
		return nil, nil, err
	}
	s, err := findService(r, in.Name, given)
	switch {
	case err != nil:
		return nil, nil, err
	case s.Status == service.Inactive:
		return nil, nil, errServiceNotActive
	case !s.IsExternal():
		return nil, nil, errNotExternal
	}
	return in, s, nil
}

// findTaskSet finds a task set of a service by its id or ARN, nil when the service has none such.
func findTaskSet(s *service.Service, given string) *service.Deployment {
	parsed, _ := arn.Parse(arn.TaskSet, given) // what is none is not found
	for i := range s.Deployments {
		id := service.DeploymentName(s.Deployments[i].ID)
		if given == id || parsed.Cluster == s.Cluster && parsed.Name == s.Name+"/"+id {
			return &s.Deployments[i]
		}
	}
	return nil
}

// createTaskSet makes a task set. With the client token of one that the service has it answers that one.
func createTaskSet(ctx context.Context, r *Request, in *types.CreateTaskSetInput) (*types.CreateTaskSetOutput, error) {
	return call.RetryOn(ctx, r, taskset.ErrClientToken, func() (*types.CreateTaskSetOutput, error) { return createTaskSetOnce(ctx, r, in) })
}

func createTaskSetOnce(ctx context.Context, r *Request, in *types.CreateTaskSetInput) (*types.CreateTaskSetOutput, error) {
	cluster, s, err := externalService(r, in.Cluster, in.Service)
	if err != nil {
		return nil, err
	}
	asked := *in
	asked.Cluster, asked.Service, asked.ClientToken = cluster.Name, s.ID, ""
	hash := parametersHash(asked)
	if known := setOfClientToken(r, s, in.ClientToken); known != nil {
		if known.Asked != hash {
			return nil, errSetNotIdempotent
		}
		return &types.CreateTaskSetOutput{TaskSet: r.Services().TaskSet(s, s.Deployment(known.ID), true)}, nil
	}
	command, err := newTaskSet(r, cluster, s, in)
	if err != nil {
		return nil, err
	}
	command.Set.Asked = hash
	after, err := call.Apply[*service.Service](ctx, r, raftfsm.Wrap(command))
	if err != nil {
		return nil, taskSetError(err)
	}
	r.Services().Added, r.Services().Changed = &command.Revision, &command.Set
	return &types.CreateTaskSetOutput{TaskSet: r.Services().TaskSet(after, after.Deployment(command.Set.ID), true)}, nil
}

// setOfClientToken is the task set of a service that was made with a client token, nil when none was.
func setOfClientToken(r *Request, s *service.Service, token string) *taskset.Set {
	for i := range s.Deployments {
		if set := taskset.Find(r.View, s.Deployments[i].ID); set != nil && token != "" && set.Token == token {
			return set
		}
	}
	return nil
}

// newTaskSet checks a request and makes the command of it.
func newTaskSet(r *Request, cluster *spec.Cluster, s *service.Service, in *types.CreateTaskSetInput) (c taskset.Create, err error) {
	if in.LaunchType != "" && len(in.CapacityProviderStrategy) > 0 {
		return c, field.Errorf("launchType", "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.")
	}
	err = cmp.Or(servicedef.CheckClientToken(in.ClientToken), checkLaunchType(in.LaunchType, in.PlatformVersion),
		servicedef.CheckExternalID(in.ExternalID), servicedef.CheckTaskSetBalancers(in.LoadBalancers), tags.Check(in.Tags))
	if err != nil {
		return c, err
	}
	scale, err := servicedef.ParseScale(in.Scale)
	if err != nil {
		return c, err
	}
	definition, err := activeDefinition(r, in.TaskDefinition)
	if err != nil {
		return c, err
	}
	if err := cmp.Or(mayRun(r, s), call.CheckPrivileges(r, s, definition)); err != nil {
		return c, err
	}
	revision := service.Revision{ID: call.NewDeploymentID(), Definition: definition.Name(), CreatedAt: r.Now()}
	if revision.LaunchType, err = resolveLaunchType(definition, in.LaunchType); err != nil {
		return c, err
	}
	if revision.Subnets, err = placement.Subnets(in.NetworkConfiguration, definition, r.View, cluster.Name); err != nil {
		return c, err
	}
	if in.LaunchType == "" {
		if revision.Providers, err = serviceProviders(cluster, in.CapacityProviderStrategy); err != nil {
			return c, err
		}
	}
	if revision.LoadBalancers, err = loadBalancers(r, cluster.Name, in.LoadBalancers, nil, &s.Settings.Deployment, definition); err != nil {
		return c, err
	}
	warnOfTags(r, s, definition)
	set := taskset.Set{ID: revision.ID, Cluster: s.Cluster, Service: s.Name, Scale: scale, ExternalID: in.ExternalID, Token: in.ClientToken, Tags: in.Tags}
	return taskset.Create{Set: set, Revision: revision, At: r.Now()}, nil
}

// mayRun refuses to have more tasks of a service run for a caller that may not give tasks its tags, or whose limits they do not count for.
func mayRun(r *Request, s *service.Service) error {
	_, err := call.ServiceTags(r, s.Tags)
	return cmp.Or(err, auth.CheckAccount(r.Principal, r.Grant, r.Owner, s))
}

// taskSetError is ECS's error for why a change of a task set was refused.
func taskSetError(err error) error {
	switch {
	case errors.Is(err, taskset.ErrUnknown):
		return errNoTaskSet
	case errors.Is(err, taskset.ErrTooMany):
		return errTooManySets
	case errors.Is(err, taskset.ErrPrimary):
		return field.Errorf("taskSet", "The primary TaskSet cannot be deleted: make another one the primary with UpdateServicePrimaryTaskSet first, or use force.")
	case errors.Is(err, taskset.ErrScaled):
		return field.Errorf("taskSet", "The TaskSet cannot be deleted while it is scaled above 0: scale it to 0 first, or use force.")
	case errors.Is(err, taskset.ErrDraining):
		return field.Errorf("taskSet", "The TaskSet is DRAINING: it was deleted.")
	case errors.Is(err, service.ErrNotExternal):
		return errNotExternal
	case errors.Is(err, spec.ErrNotFound), errors.Is(err, spec.ErrInactive): // since it was looked up
		return errServiceNotActive
	}
	return err
}

// describeTaskSets shows task sets of a service: those named, or all.
func describeTaskSets(_ context.Context, r *Request, in *types.DescribeTaskSetsInput) (*types.DescribeTaskSetsOutput, error) {
	_, s, err := externalService(r, in.Cluster, in.Service)
	if err != nil {
		return nil, err
	}
	withTags := slices.Contains(in.Include, types.TaskSetFields[0])
	if len(in.TaskSets) == 0 {
		return &types.DescribeTaskSetsOutput{TaskSets: r.Services().TaskSets(s, withTags), Failures: []types.Failure{}}, nil
	}
	sets, failures, err := call.Describe("taskSets", in.TaskSets, func(given string) (out types.TaskSet, found bool) {
		d := findTaskSet(s, given)
		if d == nil {
			return out, false
		}
		return r.Services().TaskSet(s, d, withTags), true
	})
	return &types.DescribeTaskSetsOutput{TaskSets: sets, Failures: failures}, err
}
