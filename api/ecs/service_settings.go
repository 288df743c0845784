package ecs

import (
	"cmp"
	"slices"

	"pinion/api/auth"
	"pinion/api/ecs/call"
	"pinion/api/ecs/capacity"
	"pinion/api/ecs/placement"
	"pinion/api/ecs/servicedef"
	"pinion/api/ecs/taskdef"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// serviceSettings are the members by which CreateService and UpdateService set what starts no deployment. What is absent stays.
type serviceSettings struct {
	deployment    *types.DeploymentConfigurationInput
	constraints   []spec.PlacementConstraint
	placement     []spec.PlacementStrategy
	providers     []types.StrategyItem // nil: the launch type; empty: the cluster's default
	graceSeconds  *int
	propagateTags string
	managedTags   *bool
	rebalancing   string

	executeCommand *bool
}

// change checks the members and sets them in a service that is the caller's own copy.
func (in serviceSettings) change(r *Request, cluster *spec.Cluster, s *service.Service, definition *spec.TaskDefinition) (err error) {
	err = cmp.Or(servicedef.CheckGrace(in.graceSeconds), servicedef.CheckPropagation(in.propagateTags),
		servicedef.CheckPlacement(s.Strategy, in.placement, in.constraints), taskdef.CheckConstraints(in.constraints, len(definition.PlacementConstraints)))
	if err != nil {
		return err
	}
	to := &s.Settings
	if to.Deployment, err = servicedef.ParseDeployment(in.deployment, to.Deployment, s.Strategy); err != nil {
		return err
	}
	if in.placement != nil {
		if to.Placement, err = placement.ParseStrategies(in.placement); err != nil {
			return err
		}
	}
	if in.providers != nil {
		if to.Providers, err = serviceProviders(cluster, in.providers); err != nil {
			return err
		}
	}
	if in.constraints != nil {
		to.Constraints = in.constraints
	}
	if in.graceSeconds != nil {
		to.GraceSeconds = in.graceSeconds
	}
	if in.managedTags != nil {
		to.ManagedTags = *in.managedTags
	}
	if in.executeCommand != nil {
		to.ExecuteCommand = *in.executeCommand
	}
	to.PropagateTags, to.Rebalancing = cmp.Or(in.propagateTags, to.PropagateTags), cmp.Or(in.rebalancing, to.Rebalancing)
	return servicedef.CheckRebalancing(in.rebalancing, s)
}

// serviceProviders are the items of the capacity provider strategy of a service: those given, or the cluster's default.
func serviceProviders(cluster *spec.Cluster, given []types.StrategyItem) ([]spec.CapacityProviderStrategyItem, error) {
	if len(given) == 0 {
		return cluster.DefaultStrategy, nil
	}
	items, err := capacity.ParseStrategy("capacityProviderStrategy", given, func(name string) bool { return capacity.UsableIn(cluster, name) })
	if err != nil {
		return nil, err
	}
	counts := func(i spec.CapacityProviderStrategyItem) bool { return i.Base > 0 || i.Weight > 0 }
	if len(items) > 1 && !slices.ContainsFunc(items, counts) {
		return nil, capacity.ErrNoWeight
	}
	return items, nil
}

// warnOfTags tells of tags of the definition that the tasks of a service do not get, though it propagates them.
func warnOfTags(r *Request, s *service.Service, definition *spec.TaskDefinition) {
	if s.Settings.PropagateTags != "TASK_DEFINITION" {
		return
	}
	for _, tag := range definition.Tags {
		if slices.Contains(spec.ReservedTagKeys(), tag.Key) && tag.Key != spec.TagShare {
			r.Warn("the tag %s of %s has no effect on the tasks of a service: give it to the service", tag.Key, definition.Name())
		}
	}
}

// checkServiceTags refuses a change of the tags of a service after which they would not be those of one that the caller could create.
func checkServiceTags(r *Request, s *service.Service, put []spec.Tag, remove []string) error {
	after, err := spec.ChangeTags(s.Tags, put, remove)
	if err != nil || after == nil {
		return nil // the state says what is wrong
	}
	if len(after) > 0 {
		if err := servicedef.CheckTags(slices.DeleteFunc(slices.Clone(after), spec.Tag.Reserved)); err != nil {
			return err
		}
	}
	options, _ := spec.ParseSchedulingOptions(after)
	if team, err := r.Grant.CheckTeam(options.Team); err != nil || team != options.Team {
		return wire.Errorf(wire.AccessDenied, "%s may not do this: its key is for the tasks of %v alone, and those of the service %s would count for %q.", r.Principal, r.Grant.Teams, s.Name, options.Team)
	}
	before, _ := spec.ParseSchedulingOptions(s.Tags)
	if before.Priority != options.Priority {
		if err := r.Grant.CheckPriority(options.Priority); err != nil {
			return call.Denied(r, err)
		}
	}
	return nil
}

// checkAccount holds a key to its limits of tasks: a service whose tasks count for somebody else it may scale down, and have do nothing that its own
// tasks might not.
func checkAccount(r *Request, s *service.Service, change service.Change) error {
	if change.Settings == nil && change.Revision == nil && (change.Desired == nil || *change.Desired <= s.Desired) {
		return nil
	}
	return auth.CheckAccount(r.Principal, r.Grant, r.Owner, s)
}
