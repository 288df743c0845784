// Package scaling reads the scaling group of a capacity provider. It is pure.
package scaling

import (
	"cmp"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/raftfsm/capacityprovider"
)

// Path is where the members of a scaling group stand.
const Path = "autoScalingGroupProvider"

// UpdateOf are the members of a scaling group that can be changed later.
func UpdateOf(in *types.AutoScalingGroupProviderInput) *types.AutoScalingGroupProviderUpdateInput {
	return &types.AutoScalingGroupProviderUpdateInput{
		ManagedScaling: in.ManagedScaling, ManagedTerminationProtection: in.ManagedTerminationProtection, ManagedDraining: in.ManagedDraining,
	}
}

// Parse merges a scaling group: the input over the record, and both over ECS's defaults. Pinion starts no machines: a
// scaling group is checked and shown, and managed scaling decides whether tasks wait.
func Parse(recorded capacityprovider.AutoScaling, in *types.AutoScalingGroupProviderUpdateInput) (*capacityprovider.AutoScaling, error) {
	if err := checkScalingInput(in); err != nil {
		return nil, err
	}
	scaling := view.DefaultScaling()
	status := scaling.Status
	if recorded.ManagedScaling != nil {
		scaling, status = *recorded.ManagedScaling, recorded.ManagedScaling.Status
	}
	if given := in.ManagedScaling; given != nil {
		if recorded.ManagedScaling == nil {
			status = view.Enabled // a request that says how to scale wants it
		}
		status = cmp.Or(given.Status, status)
		applyScaling(given, &scaling)
	}
	scaling.Status = status
	merged := &capacityprovider.AutoScaling{
		ARN: recorded.ARN, ManagedScaling: &scaling,
		TerminationProtection: cmp.Or(in.ManagedTerminationProtection, recorded.TerminationProtection, view.Disabled),
		ManagedDraining:       cmp.Or(in.ManagedDraining, recorded.ManagedDraining, view.Enabled),
	}
	return merged, checkScaling(merged)
}

func applyScaling(in *types.ManagedScalingInput, to *capacityprovider.ManagedScaling) {
	for _, number := range []struct{ from, to *int }{
		{in.TargetCapacity, &to.TargetCapacity}, {in.MinimumScalingStepSize, &to.MinStep}, {in.MaximumScalingStepSize, &to.MaxStep},
	} {
		if number.from != nil {
			*number.to = *number.from
		}
	}
	if in.InstanceWarmupPeriod != nil {
		to.WarmupSeconds = in.InstanceWarmupPeriod
	}
}

// checkScalingInput holds ECS's ranges.
func checkScalingInput(in *types.AutoScalingGroupProviderUpdateInput) error {
	if err := field.OneOf("managedTerminationProtection", in.ManagedTerminationProtection, types.ManagedTerminationProtections...); err != nil {
		return err
	}
	if err := field.OneOf("managedDraining", in.ManagedDraining, types.ManagedDrainings...); err != nil {
		return err
	}
	scaling := in.ManagedScaling
	if scaling == nil {
		return nil
	}
	if err := field.OneOf("managedScaling.status", scaling.Status, types.ManagedScalingStatuses...); err != nil {
		return err
	}
	for _, number := range []struct {
		member      string
		given       *int
		least, most int
	}{
		{"targetCapacity", scaling.TargetCapacity, 1, 100},
		{"minimumScalingStepSize", scaling.MinimumScalingStepSize, 1, view.MaxScalingStep},
		{"maximumScalingStepSize", scaling.MaximumScalingStepSize, 1, view.MaxScalingStep},
		{"instanceWarmupPeriod", scaling.InstanceWarmupPeriod, 0, 10000},
	} {
		if number.given != nil && (*number.given < number.least || *number.given > number.most) {
			return field.Errorf(Path+".managedScaling."+number.member, "managedScaling.%s must be between %d and %d, not %d.", number.member, number.least, number.most, *number.given)
		}
	}
	return nil
}

// checkScaling holds the rules for a scaling group as it will be recorded.
func checkScaling(p *capacityprovider.AutoScaling) error {
	if p.TerminationProtection == view.Enabled && p.ManagedScaling.Status != view.Enabled {
		return field.Errorf(Path+".managedTerminationProtection", "managedTerminationProtection ENABLED needs managedScaling with status ENABLED.")
	}
	if p.ManagedScaling.MinStep > p.ManagedScaling.MaxStep {
		return field.Errorf(Path+".managedScaling", "managedScaling.minimumScalingStepSize is %d, which is more than maximumScalingStepSize, %d.", p.ManagedScaling.MinStep, p.ManagedScaling.MaxStep)
	}
	return nil
}
