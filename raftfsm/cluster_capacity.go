package raftfsm

import (
	"fmt"
	"slices"

	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/command"
	"pinion/raftfsm/spec"
)

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
	if command.Equal(&changed, known) {
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
		if provider := capacityprovider.Find(v, name); provider == nil || provider.Status != capacityprovider.Active {
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
