package ecs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/placement"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Refusals in ECS's words, which clients match.
var (
	errNotIdempotent = field.Errorf("serviceName", "Creation of service was not idempotent.")
	errStillDraining = field.Errorf("serviceName", "Unable to Start a service that is still Draining.")
)

// createService is idempotent, as on ECS: a service of that name that was asked for in the same way is answered as it is.
func createService(ctx context.Context, r *Request, in *types.CreateServiceInput) (*types.CreateServiceOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	command, err := newService(r, cluster, in)
	if err != nil {
		return nil, err
	}
	if known := r.View.Service(cluster.Name, in.ServiceName); known != nil && known.Status != service.Inactive {
		if in.AvailabilityZoneRebalancing == "" {
			command.Service.Settings.Rebalancing = known.Settings.Rebalancing
		}
		switch {
		case known.Status == service.Draining:
			return nil, errStillDraining
		case !seesService(r, known) || !sameService(known, command) || !known.IsExternal() && !sameTraffic(r, known, &command.Revision):
			return nil, errNotIdempotent
		}
		return &types.CreateServiceOutput{Service: r.Services().Service(known, true)}, nil
	}
	created, err := call.Apply[*service.Service](ctx, r, command)
	switch {
	case errors.Is(err, service.ErrNameTaken), errors.Is(err, service.ErrNamespace):
		return nil, connectError(err)
	case errors.Is(err, spec.ErrInUse):
		return nil, errNotIdempotent
	case errors.Is(err, service.ErrTooMany):
		return nil, field.Errorf("serviceName", "The maximum number of services has been reached: a cluster can have %d.", service.MaxServices)
	case err != nil:
		return nil, err
	}
	if !created.IsExternal() {
		r.Services().Added = &command.Revision
	}
	return &types.CreateServiceOutput{Service: r.Services().Service(created, true)}, nil
}

// newService checks a request and makes the command of it.
func newService(r *Request, cluster *spec.Cluster, in *types.CreateServiceInput) (raftfsm.CreateService, error) {
	s := call.NewService(r, cluster.Name, in.ServiceName)
	s.Role = in.Role
	if err := checkCreateService(in); err != nil {
		return raftfsm.CreateService{}, err
	}
	var err error
	if s.Controller, err = servicedef.ParseController(in.DeploymentController); err != nil {
		return raftfsm.CreateService{}, err
	}
	if s.IsExternal() {
		return newExternalService(r, cluster, s, in)
	}
	if s.Strategy, err = servicedef.ParseStrategy(in.SchedulingStrategy); err != nil {
		return raftfsm.CreateService{}, err
	}
	if s.Desired, err = servicedef.ParseDesired(in.DesiredCount, s.Strategy); err != nil {
		return raftfsm.CreateService{}, err
	}
	definition, err := activeDefinition(r, in.TaskDefinition)
	if err != nil {
		return raftfsm.CreateService{}, err
	}
	launchType, err := resolveLaunchType(definition, in.LaunchType)
	if err != nil {
		return raftfsm.CreateService{}, err
	}
	given := settingsOf(in)
	if in.LaunchType == "" && given.providers == nil {
		given.providers = []types.StrategyItem{} // the cluster's default
	}
	if err := given.change(r, cluster, &s, definition); err != nil {
		return raftfsm.CreateService{}, err
	}
	if in.AvailabilityZoneRebalancing == "" && s.CannotRebalance() == "" {
		s.Settings.Rebalancing = service.Rebalanced
	}
	if s.Tags, err = call.ServiceTags(r, in.Tags); err != nil {
		return raftfsm.CreateService{}, err
	}
	warnOfTags(r, &s, definition)
	revision, rollout := call.NewDeployment(r, &s, definition, launchType)
	if revision.Subnets, err = placement.Subnets(in.NetworkConfiguration, definition, r.View, cluster.Name); err != nil {
		return raftfsm.CreateService{}, err
	}
	if revision.LoadBalancers, err = loadBalancers(r, cluster.Name, in.LoadBalancers, nil, &s.Settings.Deployment, definition); err != nil {
		return raftfsm.CreateService{}, err
	}
	if revision.Connect, err = connect(r, cluster.Name, in.ServiceConnectConfiguration, nil, definition); err != nil {
		return raftfsm.CreateService{}, err
	}
	return raftfsm.CreateService{Service: s, Revision: *revision, Rollout: *rollout}, nil
}

// settingsOf are the members of a request for a service that start no deployment.
func settingsOf(in *types.CreateServiceInput) serviceSettings {
	return serviceSettings{
		deployment: in.DeploymentConfiguration, constraints: in.PlacementConstraints, placement: in.PlacementStrategy, providers: in.CapacityProviderStrategy,
		graceSeconds: in.HealthCheckGracePeriodSeconds, propagateTags: in.PropagateTags, managedTags: in.EnableECSManagedTags, executeCommand: in.EnableExecuteCommand,
		rebalancing: in.AvailabilityZoneRebalancing,
	}
}

// newExternalService is newService for one whose deployments are task sets.
func newExternalService(r *Request, cluster *spec.Cluster, s service.Service, in *types.CreateServiceInput) (raftfsm.CreateService, error) {
	s.Strategy = service.Replica
	err := cmp.Or(servicedef.CheckExternal(in), field.OneOf("schedulingStrategy", in.SchedulingStrategy, types.SchedulingStrategies...), servicedef.CheckDesired(in.DesiredCount, s.Strategy))
	if err != nil {
		return raftfsm.CreateService{}, err
	}
	if in.DesiredCount != nil {
		s.Desired = *in.DesiredCount
	}
	given := settingsOf(in)
	given.providers = nil
	if err := given.change(r, cluster, &s, &spec.TaskDefinition{}); err != nil {
		return raftfsm.CreateService{}, err
	}
	if s.Tags, err = call.ServiceTags(r, in.Tags); err != nil {
		return raftfsm.CreateService{}, err
	}
	return raftfsm.CreateService{Service: s}, nil
}

// checkCreateService checks what needs nothing but the input.
func checkCreateService(in *types.CreateServiceInput) error {
	if in.LaunchType != "" && len(in.CapacityProviderStrategy) > 0 {
		return field.Errorf("launchType", "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.")
	}
	return cmp.Or(
		servicedef.CheckName(in.ServiceName), servicedef.CheckRole(in.Role), servicedef.CheckClientToken(in.ClientToken), checkLaunchType(in.LaunchType, in.PlatformVersion),
		servicedef.CheckTags(in.Tags),
	)
}

// sameService reports whether a service is as a request asks for it.
func sameService(known *service.Service, asked raftfsm.CreateService) bool {
	text := func(s *service.Service, definition string) []byte {
		encoded, _ := json.Marshal([]any{s.Controller, s.Strategy, s.Desired, s.Settings, s.Tags, s.Role, definition}) // of strings, numbers and lists
		return encoded
	}
	if known.IsExternal() {
		return bytes.Equal(text(known, ""), text(&asked.Service, ""))
	}
	return bytes.Equal(text(known, known.Primary().Definition), text(&asked.Service, asked.Revision.Definition))
}
