package capacity

import (
	"context"
	"errors"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/spec"
)

// maxClusterProviders is ECS's limit of capacity providers in a cluster, and of items in a strategy.
const maxClusterProviders = 20

// PutCluster replaces both lists of a cluster.
func PutCluster(ctx context.Context, r *call.Request, in *types.PutClusterCapacityProvidersInput) (*types.PutClusterCapacityProvidersOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if in.CapacityProviders == nil || in.DefaultCapacityProviderStrategy == nil {
		return nil, field.Errorf("capacityProviders", "capacityProviders and defaultCapacityProviderStrategy must both be given; [] is for none.")
	}
	change := raftfsm.PutClusterCapacityProviders{Cluster: cluster.Name}
	if change.Providers, change.Strategy, err = ParseProviders(r, in.CapacityProviders, in.DefaultCapacityProviderStrategy); err != nil {
		return nil, err
	}
	changed, err := call.Apply[*spec.Cluster](ctx, r, change)
	switch {
	case errors.Is(err, spec.ErrInUse):
		return nil, wire.Errorf("ResourceInUseException", "The specified capacity provider is in use and cannot be removed: %v.", err)
	case errors.Is(err, spec.ErrInactive):
		return nil, call.ErrNoCluster
	case errors.Is(err, spec.ErrNotFound): // deleted meanwhile
		return nil, field.Errorf("capacityProviders", "%v.", err)
	case err != nil:
		return nil, err
	}
	return &types.PutClusterCapacityProvidersOutput{Cluster: r.ChangedCluster(changed)}, nil
}

// ParseProviders checks the capacity providers that a cluster shall have, and its default strategy.
func ParseProviders(r *call.Request, given []string, strategy []types.StrategyItem) ([]string, []spec.CapacityProviderStrategyItem, error) {
	if len(given) > maxClusterProviders {
		return nil, nil, field.Errorf("capacityProviders", "capacityProviders can have at most %d items, not %d.", maxClusterProviders, len(given))
	}
	var names []string
	has := map[string]bool{}
	for i, one := range given {
		parsed, err := arn.Parse(arn.CapacityProvider, one)
		if err != nil {
			return nil, nil, err
		}
		if err := checkAttachable(r, field.Index("capacityProviders", i), parsed.Name); err != nil {
			return nil, nil, err
		}
		if !has[parsed.Name] {
			names, has[parsed.Name] = append(names, parsed.Name), true
		}
	}
	items, err := ParseStrategy("defaultCapacityProviderStrategy", strategy, func(name string) bool { return has[name] })
	return names, items, err
}

func checkAttachable(r *call.Request, path, name string) error {
	if reservedProviderName.MatchString(name) {
		return field.Errorf(path, "The capacity provider %s is not supported: Pinion runs tasks on your own hosts.", name)
	}
	if p := capacityprovider.Find(r.View, name); p == nil || p.Status != capacityprovider.Active {
		return field.Errorf(path, "The specified capacity provider '%s' was not found. Specify a valid capacity provider and try again.", name)
	}
	return nil
}
