package raftfsm

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableCapacityProviders = register(noun[spec.CapacityProvider]{
		table: "capacityProviders", indexes: []*table.Index[spec.CapacityProvider]{providersByName},
		commands: []kind{
			kindOf[CreateCapacityProvider](18, 1), kindOf[UpdateCapacityProvider](19, 1), kindOf[DeleteCapacityProvider](20, 1),
		},
		noChanges: "ECS has no event of it",
		expired: func(v *View, r Reap) iter.Seq[*spec.CapacityProvider] {
			return providersByName.Matching(v, func(p *spec.CapacityProvider) bool {
				return p.Status == spec.CapacityProviderInactive && p.DeletedAt.Before(r.Before)
			})
		},
		tags: &tagging[spec.CapacityProvider]{
			kind: spec.ResourceCapacityProvider, find: (*View).CapacityProvider, tags: func(p *spec.CapacityProvider) *[]spec.Tag { return &p.Tags },
			closed: func(p *spec.CapacityProvider) error {
				if p.Name == spec.BuiltinCapacityProvider {
					return errBuiltin
				}
				return inactiveIf(p.Status == spec.CapacityProviderInactive, spec.ResourceCapacityProvider, p.Name)
			},
		},
	})
	providersByName = table.By(func(p *spec.CapacityProvider) string { return p.Name })
)

var errBuiltin = fmt.Errorf("capacity provider %s: %w: it is built in and stays as it is", spec.BuiltinCapacityProvider, spec.ErrInUse)

// CapacityProvider returns nil when the name is unknown. The built-in one always exists.
func (v *View) CapacityProvider(name string) *spec.CapacityProvider {
	if name == spec.BuiltinCapacityProvider {
		provider := &spec.CapacityProvider{Name: name, Status: spec.CapacityProviderActive}
		if pool := v.Pool(); pool != nil {
			provider.CreatedAt = pool.CreatedAt
		}
		return provider
	}
	return providersByName.Get(v, sortkey.Key{First: name})
}

// CapacityProviders lists all providers, INACTIVE ones included, the built-in one first.
func (v *View) CapacityProviders() []*spec.CapacityProvider {
	recorded := slices.Collect(providersByName.All(v))
	return append([]*spec.CapacityProvider{v.CapacityProvider(spec.BuiltinCapacityProvider)}, recorded...)
}

// CreateCapacityProvider records a provider. ErrInUse when an ACTIVE one has the name. Answer: *CapacityProvider.
type CreateCapacityProvider struct{ Provider spec.CapacityProvider }

func (c CreateCapacityProvider) apply(tx *tx) (any, error) {
	if known := tx.CapacityProvider(c.Provider.Name); known != nil && known.Status == spec.CapacityProviderActive {
		return nil, fmt.Errorf("capacity provider %q: %w: there is one of that name", c.Provider.Name, spec.ErrInUse)
	}
	c.Provider.Status, c.Provider.UpdatedAt, c.Provider.DeletedAt = spec.CapacityProviderActive, time.Time{}, time.Time{}
	tx.put(tableCapacityProviders, &c.Provider)
	return &c.Provider, nil
}

// UpdateCapacityProvider replaces the settings of a provider's scaling group. ErrNotFound. Answer: *CapacityProvider.
type UpdateCapacityProvider struct {
	Name        string
	AutoScaling *spec.AutoScalingProvider
	At          time.Time
}

func (c UpdateCapacityProvider) apply(tx *tx) (any, error) {
	known, err := tx.mutableCapacityProvider(c.Name)
	if err != nil {
		return nil, err
	}
	changed := *known
	changed.AutoScaling, changed.UpdatedAt = c.AutoScaling, c.At
	tx.put(tableCapacityProviders, &changed)
	return &changed, nil
}

// DeleteCapacityProvider makes a provider INACTIVE. ErrNotFound; ErrInUse while an ACTIVE cluster names it. Answer:
// *CapacityProvider.
type DeleteCapacityProvider struct {
	Name string
	At   time.Time
}

func (c DeleteCapacityProvider) apply(tx *tx) (any, error) {
	known, err := tx.mutableCapacityProvider(c.Name)
	if err != nil {
		return nil, err
	}
	for _, cluster := range tx.Clusters() {
		if cluster.Status == spec.ClusterActive && slices.Contains(cluster.CapacityProviders, c.Name) {
			return nil, fmt.Errorf("capacity provider %q: %w: cluster %s names it, take it from there first", c.Name, spec.ErrInUse, cluster.Name)
		}
	}
	inactive := *known
	inactive.Status, inactive.DeletedAt = spec.CapacityProviderInactive, c.At
	tx.put(tableCapacityProviders, &inactive)
	return &inactive, nil
}

// mutableCapacityProvider returns an ACTIVE provider that can be changed.
func (v *View) mutableCapacityProvider(name string) (*spec.CapacityProvider, error) {
	if name == spec.BuiltinCapacityProvider {
		return nil, errBuiltin
	}
	known := v.CapacityProvider(name)
	if known == nil || known.Status != spec.CapacityProviderActive {
		return nil, fmt.Errorf("capacity provider %q: %w", name, spec.ErrNotFound)
	}
	return known, nil
}

// PutClusterCapacityProviders replaces the providers of an ACTIVE cluster and its default strategy. Every provider must be
// known and ACTIVE, and the strategy may name only these. ErrNotFound, ErrInactive; ErrInUse when tasks wait in a provider
// that would be removed. Answer: *Cluster.
type PutClusterCapacityProviders struct {
	Cluster   string
	Providers []string
	Strategy  []spec.CapacityProviderStrategyItem
}

func (c PutClusterCapacityProviders) apply(tx *tx) (any, error) {
	if err := c.check(tx); err != nil {
		return nil, err
	}
	known := tx.Cluster(c.Cluster)
	changed := *known
	changed.CapacityProviders, changed.DefaultStrategy = c.Providers, c.Strategy
	if equal(&changed, known) {
		return known, nil
	}
	tx.put(tableClusters, &changed)
	return &changed, nil
}

func (c PutClusterCapacityProviders) check(tx *tx) error {
	if err := tx.checkActive(c.Cluster); err != nil {
		return err
	}
	if err := tx.checkCapacityProviders(c.Providers, c.Strategy); err != nil {
		return err
	}
	for task := range tx.QueuedTasks(c.Cluster) {
		if task.CapacityProvider != spec.BuiltinCapacityProvider && !slices.Contains(c.Providers, task.CapacityProvider) {
			return fmt.Errorf("capacity provider %q: %w: task %s waits in it", task.CapacityProvider, spec.ErrInUse, task.ID)
		}
	}
	return nil
}

// checkCapacityProviders checks that a cluster may have these providers and this default strategy. ErrNotFound.
func (v *View) checkCapacityProviders(providers []string, strategy []spec.CapacityProviderStrategyItem) error {
	for _, name := range providers {
		if provider := v.CapacityProvider(name); provider == nil || provider.Status != spec.CapacityProviderActive {
			return fmt.Errorf("capacity provider %q: %w", name, spec.ErrNotFound)
		}
	}
	for _, item := range strategy {
		if !slices.Contains(providers, item.CapacityProvider) {
			return fmt.Errorf("capacity provider %q of the strategy: %w among those of the cluster", item.CapacityProvider, spec.ErrNotFound)
		}
	}
	return nil
}
