// Package capacityprovider has the capacity providers of ECS, how the state keeps them, and the commands that change them. Package raftfsm
// registers both.
package capacityprovider

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

// Status is ECS's.
type Status string

// Statuses of a capacity provider; an INACTIVE one was deleted and is shown for a while.
const (
	Active   Status = "ACTIVE"
	Inactive Status = "INACTIVE"
)

// Provider is a queue by ECS's name: tasks that are run through it wait until they have a place. What it says of a
// scaling group is echoed: the hosts of a pool are those that there are.
type Provider struct {
	Name        string       `json:"name"`
	Status      Status       `json:"status"`
	AutoScaling *AutoScaling `json:"autoScalingGroupProvider,omitempty"`
	Tags        []spec.Tag   `json:"tags,omitempty"`
	CreatedAt   time.Time    `json:"createdAt"`
	UpdatedAt   time.Time    `json:"updatedAt,omitzero"` // the last Update
	DeletedAt   time.Time    `json:"deletedAt,omitzero"`
}

// AutoScaling is ECS's autoScalingGroupProvider. The JSON names are ECS's.
type AutoScaling struct {
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

// errBuiltin refuses changes of the built-in provider.
var errBuiltin = fmt.Errorf("capacity provider %s: %w: it is built in and stays as it is", spec.BuiltinCapacityProvider, spec.ErrInUse)

// ByName has every recorded provider.
var ByName = table.By(func(p *Provider) string { return p.Name })

// Find returns nil when the name is unknown. The built-in one always exists.
func Find(v command.View, name string) *Provider {
	if name == spec.BuiltinCapacityProvider {
		provider := &Provider{Name: name, Status: Active}
		if pool := v.Pool(); pool != nil {
			provider.CreatedAt = pool.CreatedAt
		}
		return provider
	}
	return ByName.Get(v, sortkey.Key{First: name})
}

// All lists all providers, INACTIVE ones included, the built-in one first.
func All(v command.View) []*Provider {
	recorded := slices.Collect(ByName.All(v))
	return append([]*Provider{Find(v, spec.BuiltinCapacityProvider)}, recorded...)
}

// Create records a provider. spec.ErrInUse when an ACTIVE one has the name. Answer: *Provider.
type Create struct{ Provider Provider }

// Apply carries the command out.
func (c Create) Apply(tx command.Transaction) (any, error) {
	if known := Find(tx, c.Provider.Name); known != nil && known.Status == Active {
		return nil, fmt.Errorf("capacity provider %q: %w: there is one of that name", c.Provider.Name, spec.ErrInUse)
	}
	c.Provider.Status, c.Provider.UpdatedAt, c.Provider.DeletedAt = Active, time.Time{}, time.Time{}
	tx.Put(&c.Provider)
	return &c.Provider, nil
}

// Update replaces the settings of a provider's scaling group. spec.ErrNotFound. Answer: *Provider.
type Update struct {
	Name        string
	AutoScaling *AutoScaling
	At          time.Time
}

// Apply carries the command out.
func (c Update) Apply(tx command.Transaction) (any, error) {
	known, err := mutable(tx, c.Name)
	if err != nil {
		return nil, err
	}
	changed := *known
	changed.AutoScaling, changed.UpdatedAt = c.AutoScaling, c.At
	tx.Put(&changed)
	return &changed, nil
}

// Delete makes a provider INACTIVE. spec.ErrNotFound; spec.ErrInUse while an ACTIVE cluster names it. Answer:
// *Provider.
type Delete struct {
	Name string
	At   time.Time
}

// Apply carries the command out.
func (c Delete) Apply(tx command.Transaction) (any, error) {
	known, err := mutable(tx, c.Name)
	if err != nil {
		return nil, err
	}
	for _, cluster := range tx.Clusters() {
		if cluster.Status == spec.ClusterActive && slices.Contains(cluster.CapacityProviders, c.Name) {
			return nil, fmt.Errorf("capacity provider %q: %w: cluster %s names it, take it from there first", c.Name, spec.ErrInUse, cluster.Name)
		}
	}
	inactive := *known
	inactive.Status, inactive.DeletedAt = Inactive, c.At
	tx.Put(&inactive)
	return &inactive, nil
}

// mutable returns an ACTIVE provider that can be changed.
func mutable(v command.View, name string) (*Provider, error) {
	if name == spec.BuiltinCapacityProvider {
		return nil, errBuiltin
	}
	known := Find(v, name)
	if known == nil || known.Status != Active {
		return nil, fmt.Errorf("capacity provider %q: %w", name, spec.ErrNotFound)
	}
	return known, nil
}

// Expired visits the providers that were deleted before a moment.
func Expired(v command.View, before time.Time) iter.Seq[*Provider] {
	return ByName.Matching(v, func(p *Provider) bool { return p.Status == Inactive && p.DeletedAt.Before(before) })
}

// ReadOnly refuses changes of the tags of a provider: spec.ErrInUse of the built-in one, spec.ErrInactive.
func ReadOnly(p *Provider) error {
	switch {
	case p.Name == spec.BuiltinCapacityProvider:
		return errBuiltin
	case p.Status == Inactive:
		return fmt.Errorf("%s %s: %w", spec.ResourceCapacityProvider, p.Name, spec.ErrInactive)
	}
	return nil
}
