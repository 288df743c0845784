package raftfsm

import (
	"fmt"
	"slices"
	"time"
)

// BuiltinCapacityProvider is the queue that every cluster has. It is no record, and can be neither changed nor deleted.
const BuiltinCapacityProvider = "PINION"

var errBuiltin = fmt.Errorf("capacity provider %s: %w: it is built in and stays as it is", BuiltinCapacityProvider, ErrInUse)

// CapacityProviderStatus is ECS's.
type CapacityProviderStatus string

// Statuses of a capacity provider; an INACTIVE one was deleted and is shown for a while.
const (
	CapacityProviderActive   CapacityProviderStatus = "ACTIVE"
	CapacityProviderInactive CapacityProviderStatus = "INACTIVE"
)

// CapacityProvider is a queue by ECS's name: tasks that are run through it wait until they have a place. What it says of a
// scaling group is echoed: the hosts of a pool are those that there are.
type CapacityProvider struct {
	Name        string                 `json:"name"`
	Status      CapacityProviderStatus `json:"status"`
	AutoScaling *AutoScalingProvider   `json:"autoScalingGroupProvider,omitempty"`
	Tags        []Tag                  `json:"tags,omitempty"`
	CreatedAt   time.Time              `json:"createdAt"`
	UpdatedAt   time.Time              `json:"updatedAt,omitzero"` // the last UpdateCapacityProvider
	DeletedAt   time.Time              `json:"deletedAt,omitzero"`
}

// AutoScalingProvider is ECS's autoScalingGroupProvider. The JSON names are ECS's.
type AutoScalingProvider struct {
	ARN                   string          `json:"autoScalingGroupArn"`
	ManagedScaling        *ManagedScaling `json:"managedScaling,omitempty"`
	TerminationProtection string          `json:"managedTerminationProtection,omitempty"` // ENABLED or DISABLED
	ManagedDraining       string          `json:"managedDraining,omitempty"`              // the same
}

// ManagedScaling is ECS's.
type ManagedScaling struct {
	Status         string `json:"status,omitempty"` // ENABLED or DISABLED
	TargetCapacity int    `json:"targetCapacity,omitempty"`
	MinStep        int    `json:"minimumScalingStepSize,omitempty"`
	MaxStep        int    `json:"maximumScalingStepSize,omitempty"`
	WarmupSeconds  *int   `json:"instanceWarmupPeriod,omitempty"`
}

// CapacityProviderStrategyItem is one line of a strategy. The first provider of a strategy that is not empty is the queue;
// base and weight are echoed, as every queue leads to the same hosts.
type CapacityProviderStrategyItem struct {
	CapacityProvider string `json:"capacityProvider"`
	Weight           int    `json:"weight,omitempty"` // 0 to 1000
	Base             int    `json:"base,omitempty"`   // 0 to 100000
}

// CapacityProvider is nil when the name is unknown. The built-in one is always there.
func (v *View) CapacityProvider(name string) *CapacityProvider {
	if name == BuiltinCapacityProvider {
		provider := &CapacityProvider{Name: name, Status: CapacityProviderActive}
		if pool := v.Pool(); pool != nil {
			provider.CreatedAt = pool.CreatedAt
		}
		return provider
	}
	return providersByName.get(v, key{first: name})
}

// CapacityProviders lists every one, the built-in first, INACTIVE ones too.
func (v *View) CapacityProviders() []*CapacityProvider {
	recorded := slices.Collect(providersByName.all(v))
	return append([]*CapacityProvider{v.CapacityProvider(BuiltinCapacityProvider)}, recorded...)
}

// CreateCapacityProvider records one. ErrInUse when there is an ACTIVE one of the name. Answer: *CapacityProvider.
type CreateCapacityProvider struct{ Provider CapacityProvider }

func (c CreateCapacityProvider) apply(tx *tx) (any, error) {
	if known := tx.CapacityProvider(c.Provider.Name); known != nil && known.Status == CapacityProviderActive {
		return nil, fmt.Errorf("capacity provider %q: %w: there is one of that name", c.Provider.Name, ErrInUse)
	}
	c.Provider.Status, c.Provider.UpdatedAt, c.Provider.DeletedAt = CapacityProviderActive, time.Time{}, time.Time{}
	tx.put(tableCapacityProviders, &c.Provider)
	return &c.Provider, nil
}

// UpdateCapacityProvider replaces what it says of its scaling group. ErrNotFound. Answer: *CapacityProvider.
type UpdateCapacityProvider struct {
	Name        string
	AutoScaling *AutoScalingProvider
	At          time.Time
}

func (c UpdateCapacityProvider) apply(tx *tx) (any, error) {
	known, err := tx.recordedProvider(c.Name)
	if err != nil {
		return nil, err
	}
	changed := *known
	changed.AutoScaling, changed.UpdatedAt = c.AutoScaling, c.At
	tx.put(tableCapacityProviders, &changed)
	return &changed, nil
}

// DeleteCapacityProvider makes one INACTIVE. ErrNotFound; ErrInUse while an ACTIVE cluster names it.
// Answer: *CapacityProvider.
type DeleteCapacityProvider struct {
	Name string
	At   time.Time
}

func (c DeleteCapacityProvider) apply(tx *tx) (any, error) {
	known, err := tx.recordedProvider(c.Name)
	if err != nil {
		return nil, err
	}
	for _, cluster := range tx.Clusters() {
		if cluster.Status == ClusterActive && slices.Contains(cluster.CapacityProviders, c.Name) {
			return nil, fmt.Errorf("capacity provider %q: %w: cluster %s names it, take it from there first", c.Name, ErrInUse, cluster.Name)
		}
	}
	inactive := *known
	inactive.Status, inactive.DeletedAt = CapacityProviderInactive, c.At
	tx.put(tableCapacityProviders, &inactive)
	return &inactive, nil
}

// recordedProvider is an ACTIVE one that can be changed.
func (v *View) recordedProvider(name string) (*CapacityProvider, error) {
	if name == BuiltinCapacityProvider {
		return nil, errBuiltin
	}
	known := v.CapacityProvider(name)
	if known == nil || known.Status != CapacityProviderActive {
		return nil, fmt.Errorf("capacity provider %q: %w", name, ErrNotFound)
	}
	return known, nil
}

// PutClusterCapacityProviders replaces the providers of an ACTIVE cluster and its default strategy. Every provider has to
// be known and ACTIVE, and the strategy may name only those. ErrNotFound, ErrInactive; ErrInUse when tasks wait in one that
// would be taken away. Answer: *Cluster.
type PutClusterCapacityProviders struct {
	Cluster   string
	Providers []string
	Strategy  []CapacityProviderStrategyItem
}

func (c PutClusterCapacityProviders) apply(tx *tx) (any, error) {
	if err := c.check(tx); err != nil {
		return nil, err
	}
	known := tx.Cluster(c.Cluster)
	changed := *known
	changed.CapacityProviders, changed.DefaultStrategy = c.Providers, c.Strategy
	if same(&changed, known) {
		return known, nil
	}
	tx.put(tableClusters, &changed)
	return &changed, nil
}

func (c PutClusterCapacityProviders) check(tx *tx) error {
	if err := tx.active(c.Cluster); err != nil {
		return err
	}
	if err := tx.offers(c.Providers, c.Strategy); err != nil {
		return err
	}
	for task := range tx.Waiting(c.Cluster) {
		if task.CapacityProvider != BuiltinCapacityProvider && !slices.Contains(c.Providers, task.CapacityProvider) {
			return fmt.Errorf("capacity provider %q: %w: task %s waits in it", task.CapacityProvider, ErrInUse, task.ID)
		}
	}
	return nil
}

// offers says whether a cluster may have these providers and this default strategy: ErrNotFound.
func (v *View) offers(providers []string, strategy []CapacityProviderStrategyItem) error {
	for _, name := range providers {
		if provider := v.CapacityProvider(name); provider == nil || provider.Status != CapacityProviderActive {
			return fmt.Errorf("capacity provider %q: %w", name, ErrNotFound)
		}
	}
	for _, item := range strategy {
		if !slices.Contains(providers, item.CapacityProvider) {
			return fmt.Errorf("capacity provider %q of the strategy: %w among those of the cluster", item.CapacityProvider, ErrNotFound)
		}
	}
	return nil
}

// forgetProviders forgets those that were deleted before the moment.
func (tx *tx) forgetProviders(before time.Time) {
	for provider := range providersByName.all(&tx.View) {
		if provider.Status == CapacityProviderInactive && provider.DeletedAt.Before(before) {
			tx.remove(tableCapacityProviders, provider)
		}
	}
}
