package ecs

import (
	"slices"
	"strconv"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/api/ecs/view"
	"pinion/raftfsm/lazyregexp"
	"pinion/raftfsm/spec"
)

// arrayPattern is how the indexes of an array are written.
var arrayPattern = lazyregexp.New(`^([0-9]{1,9})-([0-9]{1,9})$`)

// taskTotal is how many tasks a call asks for, by count or by the indexes of an array.
func taskTotal(in *types.RunTaskInput, most int) (arrayFrom *int, count int, err error) {
	switch {
	case in.Array == "" && in.Count == nil:
		return nil, 1, nil
	case in.Array == "":
		count = *in.Count
	case in.Count != nil:
		return nil, 0, field.Errorf("array", "count and array both say how many tasks there are: give one of them.")
	default:
		from := 0
		if from, count, err = parseArray(in.Array); err != nil {
			return nil, 0, err
		}
		arrayFrom = &from
	}
	if count < 1 || count > most {
		return nil, 0, field.Errorf("count", "count must be between 1 and %d, not %d.", most, count)
	}
	return arrayFrom, count, nil
}

// parseArray reads "0-99", the indexes of the tasks of an array: the first, and how many there are.
func parseArray(text string) (from, count int, err error) {
	parts := arrayPattern.FindStringSubmatch(text)
	if parts == nil {
		return 0, 0, field.Errorf("array", `array must be the first and the last index, such as "0-99", not %q.`, text)
	}
	from, _ = strconv.Atoi(parts[1]) // nine digits
	last, _ := strconv.Atoi(parts[2])
	if last < from {
		return 0, 0, field.Errorf("array", "array %q ends before it begins.", text)
	}
	return from, last - from + 1, nil
}

// latestPlatform is the platform version of what names none.
const latestPlatform = "LATEST"

// checkLaunchType refuses launch types that no host here has, and versions of the platform of Fargate.
func checkLaunchType(launchType, platform string) error {
	if launchType == view.LaunchTypeFargate || launchType == view.LaunchTypeManagedInstances {
		return field.Errorf("launchType", "launchType %s is not supported: Pinion runs tasks on your own hosts, which is EC2 or EXTERNAL.", launchType)
	}
	if platform != "" && platform != latestPlatform {
		return field.Errorf("platformVersion", "platformVersion %q is not supported: only Fargate has platform versions. Remove it.", platform)
	}
	return nil
}

// resolveLaunchType is the launch type that a call asks for, or the first that the definition is for.
func resolveLaunchType(d *spec.TaskDefinition, given string) (string, error) {
	supported := d.RequiresCompatibilities
	switch {
	case given == "" && (len(supported) == 0 || slices.Contains(supported, view.LaunchTypeEC2)):
		return view.LaunchTypeEC2, nil
	case given == "":
		return supported[0], nil
	case len(supported) > 0 && !slices.Contains(supported, given):
		return "", field.Errorf("launchType", "Task definition does not support launch_type %s.", given)
	}
	return given, nil
}
