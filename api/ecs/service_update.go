package ecs

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/placement"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/types"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// updateService changes what is given. Another task definition, or forceNewDeployment, starts a deployment; nothing else does. Updates of a service
// at the same time are made one after another: each changes what it names of what the one before has made.
func updateService(ctx context.Context, r *Request, in *types.UpdateServiceInput) (*types.UpdateServiceOutput, error) {
	return call.RetryOn(ctx, r, service.ErrChanged, func() (*types.UpdateServiceOutput, error) { return updateServiceOnce(ctx, r, in) })
}

func updateServiceOnce(ctx context.Context, r *Request, in *types.UpdateServiceInput) (*types.UpdateServiceOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	known, err := findService(r, cluster.Name, in.Service)
	if err != nil {
		return nil, err
	}
	if known.Status != service.Active {
		return nil, errServiceNotActive
	}
	change, err := serviceChange(r, cluster, known, in)
	if err != nil {
		return nil, err
	}
	updated, err := call.Apply[*service.Service](ctx, r, raftfsm.UpdateService{Cluster: cluster.Name, Name: known.Name, Change: change, At: r.Now()})
	switch {
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoService
	case errors.Is(err, spec.ErrInactive): // since it was looked up
		return nil, errServiceNotActive
	case err != nil:
		return nil, connectError(err)
	}
	r.Services().Added = change.Revision
	return &types.UpdateServiceOutput{Service: r.Services().Service(updated, true)}, nil
}

// serviceChange checks an update and makes the change of it.
func serviceChange(r *Request, cluster *spec.Cluster, known *service.Service, in *types.UpdateServiceInput) (change service.Change, err error) {
	err = cmp.Or(servicedef.CheckDesired(in.DesiredCount, known.Strategy), servicedef.CheckController(in.DeploymentController, known.Controller), checkLaunchType("", in.PlatformVersion))
	if err != nil {
		return change, err
	}
	if known.IsExternal() {
		return externalChange(r, cluster, known, in)
	}
	definition, deploys, err := deployedDefinition(r, known, in)
	if err != nil {
		return change, err
	}
	after := *known
	if in.DesiredCount != nil {
		after.Desired = *in.DesiredCount
	}
	given := serviceSettings{
		deployment: in.DeploymentConfiguration, constraints: in.PlacementConstraints, placement: in.PlacementStrategy, providers: in.CapacityProviderStrategy,
		graceSeconds: in.HealthCheckGracePeriodSeconds, propagateTags: in.PropagateTags, managedTags: in.EnableECSManagedTags, executeCommand: in.EnableExecuteCommand,
		rebalancing: in.AvailabilityZoneRebalancing,
	}
	if err := given.change(r, cluster, &after, definition); err != nil {
		return change, err
	}
	if _, err := call.ServiceTags(r, known.Tags); err != nil {
		return change, err
	}
	warnOfTags(r, &after, definition)
	if change.Desired = in.DesiredCount; !reflect.DeepEqual(after.Settings, known.Settings) {
		change.Settings, change.Before = &after.Settings, &known.Settings
	}
	had, how := askedBalancers(r, known), &after.Settings.Deployment
	balancers, err := loadBalancers(r, cluster.Name, in.LoadBalancers, had, how, definition)
	decides := deploys || how.StrategyName() != known.Settings.Deployment.StrategyName()
	if err != nil && (decides || in.LoadBalancers != nil) {
		return change, err
	}
	connected, err := connect(r, cluster.Name, in.ServiceConnectConfiguration, askedConnect(r, known), definition)
	if err != nil && (decides || in.ServiceConnectConfiguration != nil) {
		return change, err
	}
	subnets, err := changedSubnets(r, known, in.NetworkConfiguration, definition)
	if err != nil && (decides || in.NetworkConfiguration != nil) {
		return change, err
	}
	if deploys || in.NetworkConfiguration != nil && !slices.Equal(subnets, subnetsOf(r, known)) || in.LoadBalancers != nil && !slices.Equal(balancers, had) || in.ServiceConnectConfiguration != nil && !reflect.DeepEqual(connected, askedConnect(r, known)) {
		launchType, err := resolveLaunchType(definition, launchTypeOf(r, known))
		if err = cmp.Or(err, call.CheckRun(r, definition)); err != nil {
			return change, err
		}
		change.Revision, change.Rollout = call.NewDeployment(r, &after, definition, launchType)
		change.Revision.Subnets = subnets
		change.Revision.LoadBalancers = service.SelectTargetGroups(balancers, balancersOf(r, known.Source()), how.Shifts())
		change.Revision.Connect = connected.SelectGroup(connectOf(r, known.Source()), how.Shifts())
		change.From = known.Primary().ID
		change.Rollout.Sources = r.Services().RevisionCounts(known)
	}
	return change, checkAccount(r, known, change)
}

// changedSubnets are the networks of a service's tasks after an update: those given, or those that it has as long as its tasks have addresses of
// their own.
func changedSubnets(r *Request, known *service.Service, given *types.NetworkConfigurationInput, definition *spec.TaskDefinition) ([]string, error) {
	if has := subnetsOf(r, known); given == nil && definition.HasOwnAddress() && len(has) > 0 {
		return has, nil
	}
	return placement.Subnets(given, definition, r.View, known.Cluster)
}

// subnetsOf are the networks of the tasks of a service.
func subnetsOf(r *Request, known *service.Service) []string {
	if revision := r.View.ServiceRevision(known.Primary().ID); revision != nil {
		return revision.Subnets
	}
	return nil
}

// externalChange is serviceChange for a service whose deployments are task sets.
func externalChange(r *Request, cluster *spec.Cluster, known *service.Service, in *types.UpdateServiceInput) (change service.Change, err error) {
	if err := servicedef.CheckExternalUpdate(in); err != nil {
		return change, err
	}
	after := *known
	given := serviceSettings{
		constraints: in.PlacementConstraints, placement: in.PlacementStrategy, graceSeconds: in.HealthCheckGracePeriodSeconds,
		propagateTags: in.PropagateTags, managedTags: in.EnableECSManagedTags, executeCommand: in.EnableExecuteCommand,
	}
	if err := given.change(r, cluster, &after, &spec.TaskDefinition{}); err != nil {
		return change, err
	}
	if _, err := call.ServiceTags(r, known.Tags); err != nil {
		return change, err
	}
	if change.Desired = in.DesiredCount; !reflect.DeepEqual(after.Settings, known.Settings) {
		change.Settings, change.Before = &after.Settings, &known.Settings
	}
	return change, checkAccount(r, known, change)
}

// deployedDefinition is the definition of the service after an update, and whether the update deploys it.
func deployedDefinition(r *Request, s *service.Service, in *types.UpdateServiceInput) (definition *spec.TaskDefinition, deploys bool, err error) {
	current := r.View.Definition(s.Primary().Definition)
	if in.TaskDefinition != "" {
		if definition, err = activeDefinition(r, in.TaskDefinition); err != nil {
			return nil, false, err
		}
		if definition.Name() != s.Primary().Definition {
			return definition, true, call.CheckPrivileges(r, s, definition)
		}
	}
	switch {
	case current == nil:
		return nil, false, field.Errorf("taskDefinition", "The task definition %s of the service is gone. Name another one with taskDefinition.", s.Primary().Definition)
	case in.ForceNewDeployment && current.Status != spec.DefinitionActive:
		return nil, false, field.Errorf("taskDefinition", "TaskDefinition is inactive")
	}
	return current, in.ForceNewDeployment, nil
}

// launchTypeOf is the launch type of the tasks of a service, empty when its revision is not known.
func launchTypeOf(r *Request, s *service.Service) string {
	if revision := r.View.ServiceRevision(s.Primary().ID); revision != nil {
		return revision.LaunchType
	}
	return ""
}

// deleteService ends a service and stops its tasks. Until they have stopped it is DRAINING.
func deleteService(ctx context.Context, r *Request, in *types.DeleteServiceInput) (*types.DeleteServiceOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	known, err := findService(r, cluster.Name, in.Service)
	if err != nil {
		return nil, err
	}
	deleted, err := call.Apply[*service.Service](ctx, r, raftfsm.DeleteService{Cluster: cluster.Name, Name: known.Name, Force: in.Force, At: r.Now()})
	switch {
	case errors.Is(err, service.ErrScaled):
		return nil, field.Errorf("service", "The service cannot be stopped while it is scaled above 0.")
	case errors.Is(err, service.ErrHasTaskSets):
		return nil, field.Errorf("service", "The service cannot be stopped while deployments are active.")
	case errors.Is(err, spec.ErrNotFound), errors.Is(err, spec.ErrInactive):
		return nil, errNoService
	case err != nil:
		return nil, err
	}
	return &types.DeleteServiceOutput{Service: r.Services().Service(deleted, true)}, nil
}
