package taskdef

import (
	"cmp"
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// checkRange refuses a number that is outside of ECS's range. An absent one passes.
func (c container) checkRange(member string, value *int, least, most int) error {
	if value == nil || (*value >= least && *value <= most) {
		return nil
	}
	return c.errorf(member, "%s must be %d to %d, not %d.", member, least, most, *value)
}

// orDefault is a number that may be left out.
func orDefault(value *int, otherwise int) int { return *cmp.Or(value, &otherwise) }

// parseHealthCheck fills in ECS's defaults.
func parseHealthCheck(c container, in *types.HealthCheckInput) (*spec.HealthCheck, error) {
	if in == nil {
		return nil, nil
	}
	if err := checkHealthCommand(c, in.Command); err != nil {
		return nil, err
	}
	for _, number := range []struct {
		member      string
		value       *int
		least, most int
	}{
		{"healthCheck.interval", in.Interval, 5, 300}, {"healthCheck.timeout", in.Timeout, 2, 60},
		{"healthCheck.retries", in.Retries, 1, 10}, {"healthCheck.startPeriod", in.StartPeriod, 0, 300},
	} {
		if err := c.checkRange(number.member, number.value, number.least, number.most); err != nil {
			return nil, err
		}
	}
	return &spec.HealthCheck{
		Command: in.Command, Interval: orDefault(in.Interval, 30), Timeout: orDefault(in.Timeout, 5), Retries: orDefault(in.Retries, 3), StartPeriod: in.StartPeriod,
	}, nil
}

// checkHealthCommand: the arguments of a command follow CMD, one line for the shell follows CMD-SHELL.
func checkHealthCommand(c container, command []string) error {
	const member = "healthCheck.command"
	if len(command) == 0 || (command[0] != "CMD" && command[0] != "CMD-SHELL") {
		return c.errorf(member, `healthCheck.command must begin with CMD or CMD-SHELL, such as ["CMD-SHELL", "curl -f http://localhost/ || exit 1"].`)
	}
	if len(command) < 2 || command[1] == "" {
		return c.errorf(member, "healthCheck.command has %s and no command after it.", command[0])
	}
	if command[0] == "CMD-SHELL" && len(command) > 2 {
		return c.errorf(member, "healthCheck.command must have one line after CMD-SHELL, not %d. Use CMD for the words of a command.", len(command)-1)
	}
	return nil
}

const maxIgnoredCodes = 50

func parseRestartPolicy(c container, in *types.ContainerRestartPolicyInput) (*spec.RestartPolicy, error) {
	if in == nil {
		return nil, nil
	}
	if in.Enabled == nil {
		return nil, c.errorf("restartPolicy.enabled", "restartPolicy.enabled is missing.")
	}
	if len(in.IgnoredExitCodes) > maxIgnoredCodes {
		return nil, c.errorf("restartPolicy.ignoredExitCodes", "restartPolicy.ignoredExitCodes can have at most %d items, not %d.", maxIgnoredCodes, len(in.IgnoredExitCodes))
	}
	policy := in.RestartPolicy
	policy.Enabled = *in.Enabled
	return &policy, c.checkRange("restartPolicy.restartAttemptPeriod", policy.RestartAttemptPeriod, 60, 1800)
}

// maxTimeout is the longest time that a container may be given to start or to stop, in seconds: a day.
const maxTimeout = 86400

func checkTimeouts(c container) error {
	if err := c.checkRange("startTimeout", c.StartTimeout, 2, maxTimeout); err != nil {
		return err
	}
	return c.checkRange("stopTimeout", c.StopTimeout, 0, maxTimeout)
}

// checkDependsOn holds the rules for what the containers of a task need of one another.
func checkDependsOn(d *spec.TaskDefinition) error {
	byName := map[string]*spec.ContainerDefinition{}
	for i := range d.Containers {
		byName[d.Containers[i].Name] = &d.Containers[i]
	}
	for _, c := range containersOf(d) {
		for at, dependency := range c.DependsOn {
			path := field.Index("dependsOn", at)
			if err := checkDependency(c, path, dependency, byName[dependency.ContainerName]); err != nil {
				return err
			}
			again := func(other spec.ContainerDependency) bool { return other.ContainerName == dependency.ContainerName }
			if slices.ContainsFunc(c.DependsOn[:at], again) {
				return c.errorf(field.Join(path, "containerName"), "dependsOn names container '%s' twice.", dependency.ContainerName)
			}
		}
		for at, from := range c.VolumesFrom {
			if from.SourceContainer == c.Name || byName[from.SourceContainer] == nil {
				return c.errorf(field.Join(field.Index("volumesFrom", at), "sourceContainer"), "volumesFrom must name another container of the task definition, not '%s'.", from.SourceContainer)
			}
		}
	}
	if err := checkLinks(d, byName); err != nil {
		return err
	}
	return checkDependencyCycles(d, byName)
}

// checkLinks holds the rules for the containers of the task whose names a container has. They are addresses of the bridge.
func checkLinks(d *spec.TaskDefinition, byName map[string]*spec.ContainerDefinition) error {
	for _, c := range containersOf(d) {
		for at, link := range c.Links {
			path := field.Index("links", at)
			name, alias, _ := strings.Cut(link, ":")
			switch {
			case d.NetworkMode != "" && d.NetworkMode != "bridge":
				return c.errorf("links", "links are for networkMode bridge, not %s: remove them.", d.NetworkMode)
			case byName[name] == nil || name == c.Name:
				return c.errorf(path, "links must name another container of the task definition, as 'container' or 'container:alias', not %.300q.", link)
			case alias != "" && !domainName.MatchString(alias):
				return c.errorf(path, "links: the alias %.300q must be a host name.", alias)
			}
		}
	}
	return nil
}

func checkDependency(c container, path string, d spec.ContainerDependency, other *spec.ContainerDefinition) error {
	condition := field.Join(path, "condition")
	switch {
	case other == nil || other == c.ContainerDefinition:
		return c.errorf(field.Join(path, "containerName"), "dependsOn must name another container of the task definition, not '%s'.", d.ContainerName)
	case !slices.Contains(types.ContainerConditions, d.Condition):
		return c.errorf(condition, "dependsOn.condition must be one of %s, not %q.", strings.Join(types.ContainerConditions, ", "), d.Condition)
	case d.Condition == spec.DependHealthy && other.HealthCheck == nil:
		return c.errorf(condition, "dependsOn waits for container '%s' to be HEALTHY, which has no healthCheck.", other.Name)
	case (d.Condition == spec.DependComplete || d.Condition == spec.DependSuccess) && other.IsEssential():
		return c.errorf(condition, "dependsOn waits for the end (%s) of container '%s', which is essential: its end is the end of the task. Set essential to false there.", d.Condition, other.Name)
	}
	return nil
}

// checkDependencyCycles refuses containers that wait for one another: it starts, on paper, each container that has nothing
// left to wait for, as often as there are containers.
func checkDependencyCycles(d *spec.TaskDefinition, byName map[string]*spec.ContainerDefinition) error {
	started := map[string]bool{}
	for range d.Containers {
		for name, c := range byName {
			waits := func(d spec.ContainerDependency) bool { return !started[d.ContainerName] }
			linked := func(link string) bool { name, _, _ := strings.Cut(link, ":"); return !started[name] }
			routed := c.LogConfiguration.Routed() && !started[d.LogRouter().Name]
			started[name] = started[name] || !routed && !slices.ContainsFunc(c.DependsOn, waits) && !slices.ContainsFunc(c.Links, linked)
		}
	}
	for _, c := range containersOf(d) {
		if !started[c.Name] {
			return c.errorf("dependsOn", "dependsOn has a cycle, with what links and the log driver awsfirelens wait for: none of the containers in it could ever start.")
		}
	}
	return nil
}
