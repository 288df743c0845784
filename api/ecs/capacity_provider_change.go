package ecs

import (
	"context"
	"errors"
	"regexp"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// maxProviders is how many capacity providers a pool can have.
const maxProviders = 100

// reservedProviderName are the beginnings of names that ECS keeps for itself.
var reservedProviderName = regexp.MustCompile(`(?i)^(aws|ecs|fargate)`)

// ECS's words for what is wrong with a capacity provider. Clients look for them.
var (
	errNoProvider      = wire.Errorf(wire.Client, "The specified capacity provider does not exist. Specify a valid name or ARN and try again.")
	errProviderExists  = wire.Errorf(wire.Client, "The specified capacity provider already exists. To change the configuration of an existing capacity provider, update the capacity provider.")
	errProviderBuiltIn = wire.Errorf(wire.Client, "The capacity provider %s is built in: it can be neither changed nor deleted.", spec.BuiltinCapacityProvider)
)

// managedInstancesInput are the members of what only Amazon ECS Managed Instances have.
type managedInstancesInput struct {
	Cluster          wire.Unsupported `json:"cluster" why:"a capacity provider is for all clusters here; PutClusterCapacityProviders says which use it"`
	ManagedInstances wire.Unsupported `json:"managedInstancesProvider" why:"machines are your own here; give autoScalingGroupProvider, or the name alone"`
}

type createProviderInput struct {
	managedInstancesInput
	Name        string            `json:"name"`
	AutoScaling *autoScalingInput `json:"autoScalingGroupProvider"`
	Tags        []spec.Tag        `json:"tags"`
}

type providerOutput struct {
	Provider capacityProvider `json:"capacityProvider"`
}

// createCapacityProvider makes a queue. Without a scaling group it is nothing else.
func (c *Request) createCapacityProvider(ctx context.Context, in *createProviderInput) (*providerOutput, error) {
	if !resourceName.MatchString(in.Name) || reservedProviderName.MatchString(in.Name) {
		return nil, wire.Errorf(wire.InvalidParameter, "name must be 1 to 255 letters, digits, hyphens and underscores that do not begin with aws, ecs or fargate, not %q.", in.Name)
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	p := spec.CapacityProvider{Name: in.Name, Tags: in.Tags, CreatedAt: c.Now()}
	if in.AutoScaling != nil {
		if in.AutoScaling.ARN == "" {
			return nil, wire.Errorf(wire.InvalidParameter, "autoScalingGroupProvider.autoScalingGroupArn must name a group: its ARN or its name.")
		}
		if err := in.AutoScaling.check(); err != nil {
			return nil, err
		}
		p.AutoScaling = in.AutoScaling.mergeOver(spec.AutoScalingProvider{})
		if err := checkScaling(p.AutoScaling); err != nil {
			return nil, err
		}
	}
	if c.countProviders() >= maxProviders {
		return nil, wire.Errorf("LimitExceededException", "A pool can have %d capacity providers: delete some first.", maxProviders)
	}
	made, err := apply[*spec.CapacityProvider](ctx, c, raftfsm.CreateCapacityProvider{Provider: p})
	if errors.Is(err, spec.ErrInUse) {
		return nil, errProviderExists
	}
	if err != nil {
		return nil, err
	}
	return &providerOutput{c.renderProvider(made, true)}, nil
}

// countProviders is how many are on record and can be used.
func (c *Request) countProviders() int {
	n := 0
	for _, p := range c.View.CapacityProviders() {
		if p.Status == spec.CapacityProviderActive {
			n++
		}
	}
	return n - 1 // the built-in one is no record
}

type updateProviderInput struct {
	managedInstancesInput
	Name        string        `json:"name"`
	AutoScaling *scalingInput `json:"autoScalingGroupProvider"`
}

// updateCapacityProvider changes what is given and leaves the rest.
func (c *Request) updateCapacityProvider(ctx context.Context, in *updateProviderInput) (*providerOutput, error) {
	known, err := c.mutableProvider(in.Name)
	if err != nil {
		return nil, err
	}
	if known.Status != spec.CapacityProviderActive {
		return nil, errNoProvider
	}
	if in.AutoScaling == nil {
		return nil, wire.Errorf(wire.InvalidParameter, "autoScalingGroupProvider must be given: it is what can be changed.")
	}
	if err := in.AutoScaling.check(); err != nil {
		return nil, err
	}
	changed := autoScalingInput{scalingInput: *in.AutoScaling}.mergeOver(*effectiveScaling(known))
	if err := checkScaling(changed); err != nil {
		return nil, err
	}
	p, err := apply[*spec.CapacityProvider](ctx, c, raftfsm.UpdateCapacityProvider{Name: known.Name, AutoScaling: changed, At: c.Now()})
	if errors.Is(err, spec.ErrNotFound) { // deleted meanwhile
		return nil, errNoProvider
	}
	if err != nil {
		return nil, err
	}
	return &providerOutput{c.renderProvider(p, true)}, nil
}

type deleteProviderInput struct {
	Cluster  wire.Unsupported `json:"cluster" why:"a capacity provider is for all clusters here; PutClusterCapacityProviders says which use it"`
	Provider string           `json:"capacityProvider"`
}

// deleteCapacityProvider may come twice: one that was deleted is answered as it is. ECS answers with updateStatus
// DELETE_FAILED where a cluster still names it; here the call is refused, so that nobody waits for it.
func (c *Request) deleteCapacityProvider(ctx context.Context, in *deleteProviderInput) (*providerOutput, error) {
	p, err := c.mutableProvider(in.Provider)
	if err != nil {
		return nil, err
	}
	if p.Status == spec.CapacityProviderActive {
		p, err = apply[*spec.CapacityProvider](ctx, c, raftfsm.DeleteCapacityProvider{Name: p.Name, At: c.Now()})
	}
	switch {
	case errors.Is(err, spec.ErrInUse):
		return nil, wire.Errorf(wire.Client, "The specified capacity provider is in use and cannot be removed: %v.", err)
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoProvider
	case err != nil:
		return nil, err
	}
	return &providerOutput{c.renderProvider(p, true)}, nil
}

// mutableProvider finds a capacity provider on record, by name or ARN.
func (c *Request) mutableProvider(given string) (*spec.CapacityProvider, error) {
	r, err := parseResource("capacity-provider", given)
	if err != nil {
		return nil, err
	}
	if r.name == spec.BuiltinCapacityProvider {
		return nil, errProviderBuiltIn
	}
	known := c.View.CapacityProvider(r.name)
	if known == nil {
		return nil, errNoProvider
	}
	return known, nil
}
