package capacity

import (
	"context"
	"errors"

	"pinion/api/ecs/arn"
	"pinion/api/ecs/call"
	"pinion/api/ecs/field"
	"pinion/api/ecs/scaling"
	"pinion/api/ecs/tags"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// maxProviders is how many capacity providers a pool can have.
const maxProviders = 100

// reservedProviderName matches the names that ECS keeps for itself.
var reservedProviderName = lazyregexp.New(`(?i)^(aws|ecs|fargate)`)

// Errors in ECS's words, which clients match.
var (
	errNoProvider     = wire.Errorf(wire.Client, "The specified capacity provider does not exist. Specify a valid name or ARN and try again.")
	errProviderExists = wire.Errorf(wire.Client, "The specified capacity provider already exists. To change the configuration of an existing capacity provider, update the capacity provider.")
	ErrBuiltIn        = wire.Errorf(wire.Client, "The capacity provider %s is built in: it can be neither changed nor deleted.", spec.BuiltinCapacityProvider)
)

// Create records a capacity provider, which is a queue. The scaling group is optional.
func Create(ctx context.Context, r *call.Request, in *types.CreateCapacityProviderInput) (*types.CreateCapacityProviderOutput, error) {
	if !spec.ValidName(in.Name) || reservedProviderName.MatchString(in.Name) {
		return nil, field.Errorf("name", "name must be 1 to 255 letters, digits, hyphens and underscores that do not begin with aws, ecs or fargate, not %q.", in.Name)
	}
	if err := tags.Check(in.Tags); err != nil {
		return nil, err
	}
	p := capacityprovider.Provider{Name: in.Name, Tags: in.Tags, CreatedAt: r.Now()}
	if group := in.AutoScalingGroupProvider; group != nil {
		if group.AutoScalingGroupARN == "" {
			return nil, field.Errorf(scaling.Path+".autoScalingGroupArn", "autoScalingGroupProvider.autoScalingGroupArn must name a group: its ARN or its name.")
		}
		var err error
		if p.AutoScaling, err = scaling.Parse(capacityprovider.AutoScaling{ARN: group.AutoScalingGroupARN}, scaling.UpdateOf(group)); err != nil {
			return nil, err
		}
	}
	if countProviders(r) >= maxProviders {
		return nil, wire.Errorf("LimitExceededException", "A pool can have %d capacity providers: delete some first.", maxProviders)
	}
	created, err := call.Apply[*capacityprovider.Provider](ctx, r, raftfsm.Wrap(capacityprovider.Create{Provider: p}))
	if errors.Is(err, spec.ErrInUse) {
		return nil, errProviderExists
	}
	if err != nil {
		return nil, err
	}
	return &types.CreateCapacityProviderOutput{CapacityProvider: r.Render().CapacityProvider(created, true)}, nil
}

// countProviders counts the active capacity providers on record.
func countProviders(r *call.Request) int {
	n := 0
	for _, p := range capacityprovider.All(r.View) {
		if p.Status == capacityprovider.Active {
			n++
		}
	}
	return n - 1 // the built-in one is no record
}

// Update changes the given members and leaves the others.
func Update(ctx context.Context, r *call.Request, in *types.UpdateCapacityProviderInput) (*types.UpdateCapacityProviderOutput, error) {
	known, err := mutableProvider(r, in.Name)
	if err != nil {
		return nil, err
	}
	if known.Status != capacityprovider.Active {
		return nil, errNoProvider
	}
	if in.AutoScalingGroupProvider == nil {
		return nil, field.Errorf(scaling.Path, "autoScalingGroupProvider must be given: it is what can be changed.")
	}
	changed, err := scaling.Parse(*view.Scaling(known), in.AutoScalingGroupProvider)
	if err != nil {
		return nil, err
	}
	p, err := call.Apply[*capacityprovider.Provider](ctx, r, raftfsm.Wrap(capacityprovider.Update{Name: known.Name, AutoScaling: changed, At: r.Now()}))
	if errors.Is(err, spec.ErrNotFound) { // deleted meanwhile
		return nil, errNoProvider
	}
	if err != nil {
		return nil, err
	}
	return &types.UpdateCapacityProviderOutput{CapacityProvider: r.Render().CapacityProvider(p, true)}, nil
}

// Delete is idempotent: a deleted provider is answered as it is. ECS answers with updateStatus
// DELETE_FAILED while a cluster still names the provider; here the call is refused, so that no client waits for the deletion.
func Delete(ctx context.Context, r *call.Request, in *types.DeleteCapacityProviderInput) (*types.DeleteCapacityProviderOutput, error) {
	p, err := mutableProvider(r, in.CapacityProvider)
	if err != nil {
		return nil, err
	}
	if p.Status == capacityprovider.Active {
		p, err = call.Apply[*capacityprovider.Provider](ctx, r, raftfsm.Wrap(capacityprovider.Delete{Name: p.Name, At: r.Now()}))
	}
	switch {
	case errors.Is(err, spec.ErrInUse):
		return nil, wire.Errorf(wire.Client, "The specified capacity provider is in use and cannot be removed: %v.", err)
	case errors.Is(err, spec.ErrNotFound):
		return nil, errNoProvider
	case err != nil:
		return nil, err
	}
	return &types.DeleteCapacityProviderOutput{CapacityProvider: r.Render().CapacityProvider(p, true)}, nil
}

// mutableProvider finds a capacity provider on record, by name or ARN.
func mutableProvider(r *call.Request, given string) (*capacityprovider.Provider, error) {
	parsed, err := arn.Parse(arn.CapacityProvider, given)
	if err != nil {
		return nil, err
	}
	if parsed.Name == spec.BuiltinCapacityProvider {
		return nil, ErrBuiltIn
	}
	known := capacityprovider.Find(r.View, parsed.Name)
	if known == nil {
		return nil, errNoProvider
	}
	return known, nil
}
