package ecs

import (
	"cmp"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// autoScalingInput is ECS's autoScalingGroupProvider as it is written. Pinion starts no machines: what is said here is
// checked and shown, and managed scaling decides whether tasks wait.
type autoScalingInput struct {
	scalingInput
	ARN string `json:"autoScalingGroupArn"` // an ARN, or the name of a group
}

// scalingInput are the members of it that can be changed later.
type scalingInput struct {
	Scaling               *managedScalingInput `json:"managedScaling"`
	TerminationProtection string               `json:"managedTerminationProtection"`
	Draining              string               `json:"managedDraining"`
}

type managedScalingInput struct {
	Status         string `json:"status"`
	TargetCapacity *int   `json:"targetCapacity"`         // percent
	MinStep        *int   `json:"minimumScalingStepSize"` // hosts
	MaxStep        *int   `json:"maximumScalingStepSize"` // hosts
	WarmupSeconds  *int   `json:"instanceWarmupPeriod"`
}

// ECS's values for what is not said of managed scaling.
const (
	defaultTarget  = 100
	defaultMinStep = 1
	defaultMaxStep = 10000
	defaultWarmup  = 300
)

// mergeOver lays what is given over what was recorded, and ECS's defaults under both.
func (in autoScalingInput) mergeOver(recorded spec.AutoScalingProvider) *spec.AutoScalingProvider {
	warmup, status := defaultWarmup, statusDisabled
	scaling := spec.ManagedScaling{TargetCapacity: defaultTarget, MinStep: defaultMinStep, MaxStep: defaultMaxStep, WarmupSeconds: &warmup}
	if recorded.ManagedScaling != nil {
		scaling, status = *recorded.ManagedScaling, recorded.ManagedScaling.Status
	}
	if given := in.Scaling; given != nil {
		if recorded.ManagedScaling == nil {
			status = statusEnabled // who says how to scale wants it
		}
		status = cmp.Or(given.Status, status)
		given.applyTo(&scaling)
	}
	scaling.Status = status
	return &spec.AutoScalingProvider{
		ARN: cmp.Or(in.ARN, recorded.ARN), ManagedScaling: &scaling,
		TerminationProtection: cmp.Or(in.TerminationProtection, recorded.TerminationProtection, statusDisabled),
		ManagedDraining:       cmp.Or(in.Draining, recorded.ManagedDraining, statusEnabled),
	}
}

func (in *managedScalingInput) applyTo(to *spec.ManagedScaling) {
	for _, number := range []struct{ from, to *int }{
		{in.TargetCapacity, &to.TargetCapacity}, {in.MinStep, &to.MinStep}, {in.MaxStep, &to.MaxStep},
	} {
		if number.from != nil {
			*number.to = *number.from
		}
	}
	if in.WarmupSeconds != nil {
		to.WarmupSeconds = in.WarmupSeconds
	}
}

// check holds ECS's ranges.
func (in *scalingInput) check() error {
	if err := inEnum("managedTerminationProtection", in.TerminationProtection, statusEnabled, statusDisabled); err != nil {
		return err
	}
	if err := inEnum("managedDraining", in.Draining, statusEnabled, statusDisabled); err != nil {
		return err
	}
	if in.Scaling == nil {
		return nil
	}
	if err := inEnum("managedScaling.status", in.Scaling.Status, statusEnabled, statusDisabled); err != nil {
		return err
	}
	for _, number := range []struct {
		field       string
		given       *int
		least, most int
	}{
		{"targetCapacity", in.Scaling.TargetCapacity, 1, 100},
		{"minimumScalingStepSize", in.Scaling.MinStep, 1, defaultMaxStep},
		{"maximumScalingStepSize", in.Scaling.MaxStep, 1, defaultMaxStep},
		{"instanceWarmupPeriod", in.Scaling.WarmupSeconds, 0, 10000},
	} {
		if number.given != nil && (*number.given < number.least || *number.given > number.most) {
			return wire.Errorf(wire.InvalidParameter, "managedScaling.%s must be between %d and %d, not %d.", number.field, number.least, number.most, *number.given)
		}
	}
	return nil
}

// checkScaling looks at what was laid together.
func checkScaling(p *spec.AutoScalingProvider) error {
	if p.TerminationProtection == statusEnabled && p.ManagedScaling.Status != statusEnabled {
		return wire.Errorf(wire.InvalidParameter, "managedTerminationProtection ENABLED needs managedScaling with status ENABLED.")
	}
	if p.ManagedScaling.MinStep > p.ManagedScaling.MaxStep {
		return wire.Errorf(wire.InvalidParameter, "managedScaling.minimumScalingStepSize is %d, which is more than maximumScalingStepSize, %d.", p.ManagedScaling.MinStep, p.ManagedScaling.MaxStep)
	}
	return nil
}
