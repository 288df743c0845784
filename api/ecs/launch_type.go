package ecs

import (
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// Launch types: where ECS's tasks run on machines of their owner.
const (
	launchEC2      = "EC2"
	launchExternal = "EXTERNAL"
)

// Launch types that ECS knows beside them: machines of AWS.
const (
	launchFargate          = "FARGATE"
	launchManagedInstances = "MANAGED_INSTANCES"
)

// checkLaunchType refuses what there is no place for.
func (in *runInput) checkLaunchType() error {
	if err := inEnum("launchType", in.LaunchType, launchEC2, launchFargate, launchExternal, launchManagedInstances); err != nil {
		return err
	}
	if in.LaunchType == launchFargate || in.LaunchType == launchManagedInstances {
		return wire.Errorf(wire.InvalidParameter, "launchType %s is not supported: Pinion runs tasks on your own hosts, which is EC2 or EXTERNAL.", in.LaunchType)
	}
	return nil
}

// resolveLaunchType is the launch type that a call asks for, or the first that the definition is for.
func resolveLaunchType(d *spec.TaskDefinition, given string) (string, error) {
	supported := d.RequiresCompatibilities
	switch {
	case given == "" && (len(supported) == 0 || slices.Contains(supported, launchEC2)):
		return launchEC2, nil
	case given == "":
		return supported[0], nil
	case len(supported) > 0 && !slices.Contains(supported, given):
		return "", wire.Errorf(wire.InvalidParameter, "Task definition does not support launch_type %s.", given)
	}
	return given, nil
}
