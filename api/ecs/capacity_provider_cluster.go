package ecs

import (
	"context"
	"errors"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// maxClusterProviders is ECS's limit of capacity providers in a cluster, and of items in a strategy.
const maxClusterProviders = 20

type putProvidersInput struct {
	Cluster   string         `json:"cluster"`
	Providers []string       `json:"capacityProviders"`
	Strategy  []strategyItem `json:"defaultCapacityProviderStrategy"`
}

// putClusterCapacityProviders replaces both lists of a cluster.
func (c *Request) putClusterCapacityProviders(ctx context.Context, in *putProvidersInput) (*clusterOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if in.Providers == nil || in.Strategy == nil {
		return nil, wire.Errorf(wire.InvalidParameter, "capacityProviders and defaultCapacityProviderStrategy must both be given; [] is for none.")
	}
	change := raftfsm.PutClusterCapacityProviders{Cluster: k.Name}
	if change.Providers, change.Strategy, err = c.parseClusterProviders(in.Providers, in.Strategy); err != nil {
		return nil, err
	}
	changed, err := apply[*spec.Cluster](ctx, c, change)
	switch {
	case errors.Is(err, spec.ErrInUse):
		return nil, wire.Errorf("ResourceInUseException", "The specified capacity provider is in use and cannot be removed: %v.", err)
	case errors.Is(err, spec.ErrInactive):
		return nil, errNoCluster
	case errors.Is(err, spec.ErrNotFound): // deleted meanwhile
		return nil, wire.Errorf(wire.InvalidParameter, "%v.", err)
	case err != nil:
		return nil, err
	}
	return c.clusterResult(changed), nil
}

// parseClusterProviders checks the capacity providers that a cluster shall have, and its default strategy.
func (c *Request) parseClusterProviders(given []string, strategy []strategyItem) ([]string, []spec.CapacityProviderStrategyItem, error) {
	if len(given) > maxClusterProviders {
		return nil, nil, wire.Errorf(wire.InvalidParameter, "capacityProviders can have at most %d items, not %d.", maxClusterProviders, len(given))
	}
	var names []string
	has := map[string]bool{}
	for _, one := range given {
		r, err := parseResource("capacity-provider", one)
		if err != nil {
			return nil, nil, err
		}
		if err := c.checkAttachable(r.name); err != nil {
			return nil, nil, err
		}
		if !has[r.name] {
			names, has[r.name] = append(names, r.name), true
		}
	}
	items, err := checkStrategy("defaultCapacityProviderStrategy", strategy, func(name string) bool { return has[name] })
	return names, items, err
}

func (c *Request) checkAttachable(name string) error {
	if reservedProviderName.MatchString(name) {
		return wire.Errorf(wire.InvalidParameter, "The capacity provider %s is not supported: Pinion runs tasks on your own hosts.", name)
	}
	if p := c.View.CapacityProvider(name); p == nil || p.Status != spec.CapacityProviderActive {
		return wire.Errorf(wire.InvalidParameter, "The specified capacity provider '%s' was not found. Specify a valid capacity provider and try again.", name)
	}
	return nil
}
