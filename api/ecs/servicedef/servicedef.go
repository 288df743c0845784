// Package servicedef reads what requests say of services: checks it by ECS's rules, and turns it into what the state records. It is pure.
package servicedef

import (
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/tags"
	"pinion/api/ecs/types"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const (
	maxGrace = 1<<31 - 1
	maxRole  = 2048 // IAM's ARNs
	namePath = "serviceName"
)

// CheckName checks the name of a service by ECS's rules.
func CheckName(name string) error {
	if !spec.ValidName(name) {
		return field.Errorf(namePath, "serviceName must be 1 to 255 letters, digits, hyphens and underscores, not %q.", name)
	}
	return nil
}

// CheckRole bounds what is kept of a role.
func CheckRole(role string) error {
	if len(role) > maxRole {
		return field.Errorf("role", "role must be at most %d characters long, not %d.", maxRole, len(role))
	}
	return nil
}

// ParseDesired reads the desired count of a new service, which one of REPLICA has to have.
func ParseDesired(given *int, strategy service.Strategy) (int, error) {
	if given == nil && strategy == service.Replica {
		return 0, field.Errorf("desiredCount", "desiredCount must be given: how many tasks the service is to have.")
	}
	if given == nil {
		return 0, nil
	}
	return *given, CheckDesired(given, strategy)
}

// CheckDesired checks a desired count, which only services of REPLICA have.
func CheckDesired(given *int, strategy service.Strategy) error {
	switch {
	case given == nil:
		return nil
	case strategy == service.Daemon:
		return field.Errorf("desiredCount", "The daemon scheduling strategy does not support a desired count for services. Remove a desired count value and try again.")
	case *given < 0 || *given > service.MaxDesired:
		return field.Errorf("desiredCount", "desiredCount must be between 0 and %d, not %d.", service.MaxDesired, *given)
	}
	return nil
}

// CheckGrace checks how long a service ignores that a new task is not healthy.
func CheckGrace(given *int) error {
	if given != nil && *given < 0 {
		return field.Errorf("healthCheckGracePeriodSeconds", "healthCheckGracePeriodSeconds must be between 0 and %d, not %d.", maxGrace, *given)
	}
	return nil
}

// CheckPlacement refuses strategies and constraints that a DAEMON cannot have: it has one task on every host.
func CheckPlacement(strategy service.Strategy, placement []spec.PlacementStrategy, constraints []spec.PlacementConstraint) error {
	if strategy != service.Daemon {
		return nil
	}
	if len(placement) > 0 {
		return field.Errorf("placementStrategy", "The daemon scheduling strategy does not support the placementStrategy parameter. Remove it and try again.")
	}
	distinct := func(c spec.PlacementConstraint) bool { return c.Type == spec.DistinctInstance }
	if i := slices.IndexFunc(constraints, distinct); i >= 0 {
		return field.Errorf(field.Index("placementConstraints", i), "The daemon scheduling strategy does not support the distinctInstance placement constraint. Remove it and try again.")
	}
	return nil
}

// oneByOne are the scheduling options that tie the tasks of one run together, or are about one task alone. A service replaces tasks by itself, those too
// that are stopped because their GPUs do nothing.
var oneByOne = []string{spec.TagGang, spec.TagAfter, spec.TagRetries, spec.TagRetryOn, spec.TagHold, spec.TagIdleTimeout, spec.TagIdleAction, spec.TagGPUAlternatives}

// CheckTags checks the tags of a service. Those of Pinion's own are for its tasks, but for two that say how it is rolled out.
func CheckTags(all []spec.Tag) error {
	if err := tags.Check(all); err != nil {
		return err
	}
	if err := service.CheckTags(all); err != nil {
		return field.Errorf("tags", "%v.", err)
	}
	for i, tag := range all {
		if slices.Contains(oneByOne, tag.Key) {
			return field.Errorf(field.Join(field.Index("tags", i), "key"), "The tag %s is not for services, which start and replace each task by itself: remove it.", tag.Key)
		}
	}
	return tags.CheckScheduling(OfTasks(all))
}

// OfTasks are the tags of a service without those that only the service has a use for.
func OfTasks(all []spec.Tag) []spec.Tag {
	return slices.DeleteFunc(slices.Clone(all), func(t spec.Tag) bool { return t.Key == service.TagRollout || t.Key == service.TagHealthyAfter })
}

// NoTags is what a service has that says nothing of tags: its tasks get none but those of Pinion's own.
const NoTags = "NONE"

// CheckPropagation checks where tasks get tags from.
func CheckPropagation(given string) error {
	return field.OneOf("propagateTags", given, types.TagSources...)
}

// ParseStrategy reads a scheduling strategy.
func ParseStrategy(given string) (service.Strategy, error) {
	if given == "" {
		return service.Replica, nil
	}
	return service.Strategy(given), field.OneOf("schedulingStrategy", given, types.SchedulingStrategies...)
}

// CheckRebalancing checks whether the tasks of a service, as it is to be, are to be moved between availability zones.
func CheckRebalancing(given string, s *service.Service) error {
	if err := field.OneOf(rebalancingPath, given, types.Rebalancings...); err != nil {
		return err
	}
	if why := s.CannotRebalance(); why != "" && s.Settings.Rebalancing == service.Rebalanced && (given != "" || !s.IsExternal()) {
		return field.Errorf(rebalancingPath, "Availability Zone Rebalancing does not support %s. Set availabilityZoneRebalancing to DISABLED, or change that.", why)
	}
	return nil
}

const rebalancingPath = "availabilityZoneRebalancing"

// CheckClientToken checks a client token.
func CheckClientToken(token string) error {
	if outside := func(c rune) bool { return c < 33 || c > 126 }; strings.ContainsFunc(token, outside) || len(token) > 36 {
		return field.Errorf("clientToken", "clientToken must be up to 36 printable ASCII characters without blanks.")
	}
	return nil
}
