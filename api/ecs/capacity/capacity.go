// Package capacity has the operations of capacity providers, which are queues.
package capacity

import (
	"context"
	"slices"
	"strings"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/paging"
	"pinion/api/ecs/types"
	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/spec"
)

// maxProviderPage is ECS's limit of capacity providers in one answer, and the default.
const maxProviderPage = 10

// Describe shows the named providers, deleted ones too, or all active ones. With a cluster it shows only the
// providers that tasks of that cluster can use.
func Describe(_ context.Context, r *call.Request, in *types.DescribeCapacityProvidersInput) (*types.DescribeCapacityProvidersOutput, error) {
	usable := func(string) bool { return true }
	if in.Cluster != "" {
		cluster, err := r.Cluster(in.Cluster)
		if err != nil {
			return nil, err
		}
		usable = func(name string) bool { return UsableIn(cluster, name) }
	}
	limited, err := paging.WithLimit(in.Paging, maxProviderPage)
	if err != nil {
		return nil, err
	}
	out := &types.DescribeCapacityProvidersOutput{CapacityProviders: []types.CapacityProvider{}, Failures: []types.Failure{}}
	found := slices.DeleteFunc(capacityprovider.All(r.View), func(p *capacityprovider.Provider) bool {
		return p.Status != capacityprovider.Active || !usable(p.Name)
	})
	if len(in.CapacityProviders) > 0 {
		if found, err = findProviders(r, in.CapacityProviders, usable, out); err != nil {
			return nil, err
		}
	} else {
		slices.SortFunc(found, func(a, b *capacityprovider.Provider) int { return strings.Compare(a.Name, b.Name) })
		if found, out.NextToken, err = paging.Cut(limited, found, false, func(p *capacityprovider.Provider) string { return p.Name }); err != nil {
			return nil, err
		}
	}
	for _, p := range found {
		out.CapacityProviders = append(out.CapacityProviders, r.Render().CapacityProvider(p, len(in.Include) > 0))
	}
	return out, nil
}

// findProviders finds the providers of a list. What is not there becomes a failure of the output.
func findProviders(r *call.Request, names []string, usable func(string) bool, out *types.DescribeCapacityProvidersOutput) ([]*capacityprovider.Provider, error) {
	if len(names) > paging.Max {
		return nil, field.Errorf("capacityProviders", "capacityProviders can have at most %d items.", paging.Max)
	}
	var found []*capacityprovider.Provider
	for _, given := range names {
		parsed, err := arn.Parse(arn.CapacityProvider, given)
		if err != nil {
			return nil, err
		}
		if p := capacityprovider.Find(r.View, parsed.Name); p != nil && usable(parsed.Name) {
			found = append(found, p)
			continue
		}
		out.Failures = append(out.Failures, types.Failure{ARN: r.Render().ProviderARN(parsed.Name), Reason: spec.ReasonMissing})
	}
	return found, nil
}

// UsableIn says whether tasks can be run through a provider in a cluster: it is among the cluster's own, or the built-in.
func UsableIn(cluster *spec.Cluster, name string) bool {
	return name == spec.BuiltinCapacityProvider || slices.Contains(cluster.CapacityProviders, name)
}
