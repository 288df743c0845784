package ecs

import (
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// strategyItem is ECS's CapacityProviderStrategyItem. All members are always shown.
type strategyItem struct {
	Name   string `json:"capacityProvider"`
	Base   int    `json:"base"`
	Weight int    `json:"weight"`
}

// ECS's limits for an item.
const (
	maxBase   = 100000
	maxWeight = 1000
)

// ECS's words for a strategy that cannot be followed.
var (
	errNotAssociated = wire.Errorf(wire.InvalidParameter, "The specified capacity provider strategy cannot contain a capacity provider that is not associated with the cluster. Associate the capacity provider with the cluster or specify a valid capacity provider and try again.")
	errNoWeight      = wire.Errorf(wire.InvalidParameter, "There are no capacity providers with a weight value greater than zero in the capacity provider strategy. At least one capacity provider must have a weight value greater than zero: specify one and try again.")
)

// checkStrategy holds ECS's rules for the strategy in a field. Each provider has to be one of those that the cluster has.
func checkStrategy(field string, given []strategyItem, has func(string) bool) ([]spec.CapacityProviderStrategyItem, error) {
	if len(given) > maxClusterProviders {
		return nil, wire.Errorf(wire.InvalidParameter, "%s can have at most %d items, not %d.", field, maxClusterProviders, len(given))
	}
	var items []spec.CapacityProviderStrategyItem
	seen, bases := map[string]bool{}, 0
	for _, item := range given {
		r, err := parseResource("capacity-provider", item.Name)
		switch {
		case err != nil:
			return nil, err
		case item.Weight < 0 || item.Weight > maxWeight:
			return nil, wire.Errorf(wire.InvalidParameter, "%s.weight must be between 0 and %d, not %d.", field, maxWeight, item.Weight)
		case item.Base < 0 || item.Base > maxBase:
			return nil, wire.Errorf(wire.InvalidParameter, "%s.base must be between 0 and %d, not %d.", field, maxBase, item.Base)
		case seen[r.name]:
			return nil, wire.Errorf(wire.InvalidParameter, "%s names the capacity provider %s twice.", field, r.name)
		case !has(r.name):
			return nil, errNotAssociated
		}
		if item.Base > 0 {
			bases++
		}
		seen[r.name] = true
		items = append(items, spec.CapacityProviderStrategyItem{CapacityProvider: r.name, Base: item.Base, Weight: item.Weight})
	}
	if bases > 1 {
		return nil, wire.Errorf(wire.InvalidParameter, "%s: only one capacity provider can have a base.", field)
	}
	return items, nil
}

// strategyOutput is a strategy as ECS shows it.
func strategyOutput(items []spec.CapacityProviderStrategyItem) []strategyItem {
	shown := []strategyItem{}
	for _, item := range items {
		shown = append(shown, strategyItem{Name: item.CapacityProvider, Base: item.Base, Weight: item.Weight})
	}
	return shown
}

// queueProvider is the capacity provider that the tasks of a call wait in: the first of the call's strategy, or of the cluster's,
// that has a base or a weight. It is empty where tasks are placed at once or not at all: with a launch type, where there
// is no strategy, and through a provider without managed scaling.
func (c *Request) queueProvider(k *spec.Cluster, in *runInput) (string, error) {
	items := k.DefaultStrategy
	switch {
	case in.LaunchType != "" && len(in.CapacityProviders) > 0:
		return "", wire.Errorf(wire.InvalidParameter, "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again.")
	case in.LaunchType != "":
		return "", nil
	case len(in.CapacityProviders) > 0:
		var err error
		if items, err = checkStrategy("capacityProviderStrategy", in.CapacityProviders, func(name string) bool { return usableIn(k, name) }); err != nil {
			return "", err
		}
	}
	for _, item := range items {
		if len(items) > 1 && item.Base == 0 && item.Weight == 0 {
			continue
		}
		p := c.View.CapacityProvider(item.CapacityProvider)
		if p == nil || p.Status != spec.CapacityProviderActive {
			return "", errNotAssociated
		}
		if !queuesTasks(p) {
			c.warn("the capacity provider %s has no managed scaling, so tasks do not wait in it: what has no place fails at once", p.Name)
			return "", nil
		}
		return p.Name, nil
	}
	if len(items) > 0 {
		return "", errNoWeight
	}
	return "", nil
}
