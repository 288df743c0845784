package view

import (
	"cmp"

	"pinion/api/ecs/types"
	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/spec"
)

// How ECS writes a switch.
const (
	Enabled  = "ENABLED"
	Disabled = "DISABLED"
)

// CapacityProvider renders a capacity provider.
func (r *Renderer) CapacityProvider(p *capacityprovider.Provider, withTags bool) types.CapacityProvider {
	out := types.CapacityProvider{
		CapacityProviderARN: r.ProviderARN(p.Name), Name: p.Name, Status: string(p.Status), Type: "EC2_AUTOSCALING",
		AutoScalingGroupProvider: Scaling(p), UpdateStatus: updateStatus(p), Tags: []spec.Tag{},
	}
	if withTags {
		out.Tags = nonNil(p.Tags)
	}
	return out
}

// updateStatus is the last change, which is complete as soon as it is on record. The built-in provider never changes.
func updateStatus(p *capacityprovider.Provider) string {
	switch {
	case p.Name == spec.BuiltinCapacityProvider:
		return ""
	case p.Status == capacityprovider.Inactive:
		return "DELETE_COMPLETE"
	case !p.UpdatedAt.IsZero():
		return "UPDATE_COMPLETE"
	}
	return "CREATE_COMPLETE"
}

// Scaling is the scaling group of a provider. One that was made without a group has one of its own name, with managed scaling:
// that is how ECS says that tasks wait in it.
func Scaling(p *capacityprovider.Provider) *capacityprovider.AutoScaling {
	if p.AutoScaling != nil {
		return p.AutoScaling
	}
	scaling := DefaultScaling()
	scaling.Status = Enabled
	return &capacityprovider.AutoScaling{ARN: p.Name, ManagedScaling: &scaling, TerminationProtection: Disabled, ManagedDraining: Enabled}
}

// DefaultScaling are ECS's values for what a request does not say about managed scaling. It is disabled.
func DefaultScaling() capacityprovider.ManagedScaling {
	warmup := 300
	return capacityprovider.ManagedScaling{Status: Disabled, TargetCapacity: 100, MinStep: 1, MaxStep: MaxScalingStep, WarmupSeconds: &warmup}
}

// MaxScalingStep is ECS's limit for a scaling step, in hosts.
const MaxScalingStep = 10000

// QueuesTasks says whether tasks that are run through a provider wait when nothing is free. As on ECS that takes managed
// scaling.
func QueuesTasks(p *capacityprovider.Provider) bool {
	return p.AutoScaling == nil || cmp.Or(p.AutoScaling.ManagedScaling, &capacityprovider.ManagedScaling{}).Status == Enabled
}
