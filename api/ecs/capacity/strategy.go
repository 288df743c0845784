package capacity

import (
	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/spec"
)

// ECS's limits for an item of a strategy.
const (
	maxBase   = 100000
	maxWeight = 1000
)

// ECS's words for a strategy that cannot be followed.
var (
	errNotAssociated = field.Errorf("capacityProviderStrategy", "The specified capacity provider strategy cannot contain a capacity provider that is not associated with the cluster. Associate the capacity provider with the cluster or specify a valid capacity provider and try again.")
	ErrNoWeight      = field.Errorf("capacityProviderStrategy", "There are no capacity providers with a weight value greater than zero in the capacity provider strategy. At least one capacity provider must have a weight value greater than zero: specify one and try again.")
)

// ParseStrategy checks a capacity provider strategy by ECS's rules. The cluster must have each provider.
func ParseStrategy(path string, given []types.StrategyItem, has func(string) bool) ([]spec.CapacityProviderStrategyItem, error) {
	if len(given) > maxClusterProviders {
		return nil, field.Errorf(path, "%s can have at most %d items, not %d.", path, maxClusterProviders, len(given))
	}
	var items []spec.CapacityProviderStrategyItem
	seen, bases := map[string]bool{}, 0
	for i, item := range given {
		at := field.Index(path, i)
		parsed, err := arn.Parse(arn.CapacityProvider, item.CapacityProvider)
		switch {
		case err != nil:
			return nil, err
		case item.Weight < 0 || item.Weight > maxWeight:
			return nil, field.Errorf(at+".weight", "%s.weight must be between 0 and %d, not %d.", path, maxWeight, item.Weight)
		case item.Base < 0 || item.Base > maxBase:
			return nil, field.Errorf(at+".base", "%s.base must be between 0 and %d, not %d.", path, maxBase, item.Base)
		case seen[parsed.Name]:
			return nil, field.Errorf(at+".capacityProvider", "%s names the capacity provider %s twice.", path, parsed.Name)
		case !has(parsed.Name):
			return nil, errNotAssociated
		}
		if item.Base > 0 {
			bases++
		}
		seen[parsed.Name] = true
		items = append(items, spec.CapacityProviderStrategyItem{CapacityProvider: parsed.Name, Base: item.Base, Weight: item.Weight})
	}
	if bases > 1 {
		return nil, field.Errorf(path, "%s: only one capacity provider can have a base.", path)
	}
	return items, nil
}

// Queue is the capacity provider that the tasks of a call wait in: the first of the call's strategy, or of the cluster's,
// that has a base or a weight. It is empty where tasks are placed at once or not at all: with a launch type, where there
// is no strategy, and through a provider without managed scaling.
func Queue(r *call.Request, cluster *spec.Cluster, in *types.RunTaskInput) (string, error) {
	items := cluster.DefaultStrategy
	switch {
	case in.LaunchType != "" && len(in.CapacityProviderStrategy) > 0:
		return "", field.Errorf("launchType", "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.")
	case in.LaunchType != "":
		return "", nil
	case len(in.CapacityProviderStrategy) > 0:
		var err error
		if items, err = ParseStrategy("capacityProviderStrategy", in.CapacityProviderStrategy, func(name string) bool { return UsableIn(cluster, name) }); err != nil {
			return "", err
		}
	}
	for _, item := range items {
		if len(items) > 1 && item.Base == 0 && item.Weight == 0 {
			continue
		}
		p := capacityprovider.Find(r.View, item.CapacityProvider)
		if p == nil || p.Status != capacityprovider.Active {
			return "", errNotAssociated
		}
		if !view.QueuesTasks(p) {
			r.Warn("the capacity provider %s has no managed scaling, so tasks do not wait in it: what has no place fails at once", p.Name)
			return "", nil
		}
		return p.Name, nil
	}
	if len(items) > 0 {
		return "", ErrNoWeight
	}
	return "", nil
}
