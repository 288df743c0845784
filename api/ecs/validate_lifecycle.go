package ecs

import (
	"cmp"
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// checkRange refuses a number of a container's field that is outside of ECS's range. Absent passes.
func checkRange(container, field string, value *int, least, most int) error {
	if value == nil || (*value >= least && *value <= most) {
		return nil
	}
	return wire.Errorf(wire.Client, "Container '%s': %s must be %d to %d, not %d.", container, field, least, most, *value)
}

// orDefault is a number that may be left out.
func orDefault(value *int, otherwise int) int { return *cmp.Or(value, &otherwise) }

// normalise fills ECS's defaults in.
func (in *healthInput) normalise(container string) (*spec.HealthCheck, error) {
	if in == nil {
		return nil, nil
	}
	if err := checkHealthCommand(container, in.Command); err != nil {
		return nil, err
	}
	for _, number := range []struct {
		field       string
		value       *int
		least, most int
	}{
		{"healthCheck.interval", in.Interval, 5, 300}, {"healthCheck.timeout", in.Timeout, 2, 60},
		{"healthCheck.retries", in.Retries, 1, 10}, {"healthCheck.startPeriod", in.StartPeriod, 0, 300},
	} {
		if err := checkRange(container, number.field, number.value, number.least, number.most); err != nil {
			return nil, err
		}
	}
	return &spec.HealthCheck{
		Command: in.Command, Interval: orDefault(in.Interval, 30), Timeout: orDefault(in.Timeout, 5), Retries: orDefault(in.Retries, 3), StartPeriod: in.StartPeriod,
	}, nil
}

// checkHealthCommand: what follows CMD are the words of a command, what follows CMD-SHELL is one line.
func checkHealthCommand(container string, command []string) error {
	if len(command) == 0 || (command[0] != "CMD" && command[0] != "CMD-SHELL") {
		return wire.Errorf(wire.Client, `Container '%s': healthCheck.command must begin with CMD or CMD-SHELL, such as ["CMD-SHELL", "curl -f http://localhost/ || exit 1"].`, container)
	}
	if len(command) < 2 || command[1] == "" {
		return wire.Errorf(wire.Client, "Container '%s': healthCheck.command says %s and no command.", container, command[0])
	}
	if command[0] == "CMD-SHELL" && len(command) > 2 {
		return wire.Errorf(wire.Client, "Container '%s': healthCheck.command must have one line after CMD-SHELL, not %d. Use CMD for the words of a command.", container, len(command)-1)
	}
	return nil
}

const maxIgnoredCodes = 50

func (in *restartInput) normalise(container string) (*spec.RestartPolicy, error) {
	if in == nil {
		return nil, nil
	}
	if in.Enabled == nil {
		return nil, wire.Errorf(wire.Client, "Container '%s': restartPolicy.enabled is missing.", container)
	}
	if len(in.IgnoredExitCodes) > maxIgnoredCodes {
		return nil, wire.Errorf(wire.Client, "Container '%s': restartPolicy.ignoredExitCodes can have at most %d items, not %d.", container, maxIgnoredCodes, len(in.IgnoredExitCodes))
	}
	policy := in.RestartPolicy
	policy.Enabled = *in.Enabled
	return &policy, checkRange(container, "restartPolicy.restartAttemptPeriod", policy.RestartAttemptPeriod, 60, 1800)
}

// maxTimeout is the longest time that a container may be given to start or to stop, in seconds: a day.
const maxTimeout = 86400

func checkTimeouts(c *spec.ContainerDefinition) error {
	if err := checkRange(c.Name, "startTimeout", c.StartTimeout, 2, maxTimeout); err != nil {
		return err
	}
	return checkRange(c.Name, "stopTimeout", c.StopTimeout, 0, maxTimeout)
}

var dependencyConditions = []string{spec.DependStart, spec.DependComplete, spec.DependSuccess, spec.DependHealthy}

// checkDependsOn holds the rules for what the containers of a task want of one another.
func checkDependsOn(d *spec.TaskDefinition) error {
	byName := map[string]*spec.ContainerDefinition{}
	for i := range d.Containers {
		byName[d.Containers[i].Name] = &d.Containers[i]
	}
	for i := range d.Containers {
		c := &d.Containers[i]
		for at, dependency := range c.DependsOn {
			if err := checkDependency(c, dependency, byName[dependency.ContainerName]); err != nil {
				return err
			}
			again := func(other spec.ContainerDependency) bool { return other.ContainerName == dependency.ContainerName }
			if slices.ContainsFunc(c.DependsOn[:at], again) {
				return wire.Errorf(wire.Client, "Container '%s': dependsOn names container '%s' twice.", c.Name, dependency.ContainerName)
			}
		}
		for _, from := range c.VolumesFrom {
			if from.SourceContainer == c.Name || byName[from.SourceContainer] == nil {
				return wire.Errorf(wire.Client, "Container '%s': volumesFrom must name another container of the task definition, not '%s'.", c.Name, from.SourceContainer)
			}
		}
	}
	return checkDependencyCycles(d, byName)
}

func checkDependency(c *spec.ContainerDefinition, d spec.ContainerDependency, other *spec.ContainerDefinition) error {
	switch {
	case other == nil || other == c:
		return wire.Errorf(wire.Client, "Container '%s': dependsOn must name another container of the task definition, not '%s'.", c.Name, d.ContainerName)
	case !slices.Contains(dependencyConditions, d.Condition):
		return wire.Errorf(wire.Client, "Container '%s': dependsOn.condition must be one of START, COMPLETE, SUCCESS, HEALTHY, not %q.", c.Name, d.Condition)
	case d.Condition == spec.DependHealthy && other.HealthCheck == nil:
		return wire.Errorf(wire.Client, "Container '%s': dependsOn waits for container '%s' to be HEALTHY, which has no healthCheck.", c.Name, other.Name)
	case (d.Condition == spec.DependComplete || d.Condition == spec.DependSuccess) && other.IsEssential():
		return wire.Errorf(wire.Client, "Container '%s': dependsOn waits for the end (%s) of container '%s', which is essential: its end is the end of the task. Set essential to false there.", c.Name, d.Condition, other.Name)
	}
	return nil
}

// checkDependencyCycles refuses containers that wait for one another: it starts, on paper, whatever has nothing left to wait for.
func checkDependencyCycles(d *spec.TaskDefinition, byName map[string]*spec.ContainerDefinition) error {
	started := map[string]bool{}
	for range d.Containers {
		for name, c := range byName {
			waits := func(d spec.ContainerDependency) bool { return !started[d.ContainerName] }
			started[name] = started[name] || !slices.ContainsFunc(c.DependsOn, waits)
		}
	}
	for _, c := range d.Containers {
		if !started[c.Name] {
			return wire.Errorf(wire.Client, "Container '%s': dependsOn goes round in a circle, so none of the containers in it could ever start.", c.Name)
		}
	}
	return nil
}
