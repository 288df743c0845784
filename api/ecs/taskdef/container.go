package taskdef

import (
	"fmt"
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// container is a container definition and where it stands in the input.
type container struct {
	*spec.ContainerDefinition
	path string // "containerDefinitions[0]"
}

func containerPath(at int) string { return field.Index("containerDefinitions", at) }

// containersOf are the containers of a task definition with their paths.
func containersOf(d *spec.TaskDefinition) []container {
	all := make([]container, len(d.Containers))
	for i := range d.Containers {
		all[i] = container{&d.Containers[i], containerPath(i)}
	}
	return all
}

// errorf is a field error of a member of the container. The message names the container, which people know better than its
// index.
func (c container) errorf(member, format string, args ...any) error {
	return field.Errorf(field.Join(c.path, member), "Container '%s': %s", c.Name, fmt.Sprintf(format, args...))
}

// invalidf is errorf in ECS's words for sizes.
func (c container) invalidf(member, format string, args ...any) error {
	return field.Errorf(field.Join(c.path, member), "Invalid setting for container '%s'. %s", c.Name, fmt.Sprintf(format, args...))
}

// minMemory is the least memory in MiB that a container can start with.
const minMemory = 6

// checkContainer holds the rules for one container by itself.
func checkContainer(c container, networkMode, ipcMode string) error {
	if c.Name == "" {
		return field.Errorf(field.Join(c.path, "name"), "Container.name should not be null or empty.")
	}
	if !spec.ValidName(c.Name) {
		return field.Errorf(field.Join(c.path, "name"), "Container.name contains invalid characters: 1 to 255 letters, digits, hyphens and underscores are allowed.")
	}
	if c.Image == "" {
		return field.Errorf(field.Join(c.path, "image"), "Container.image should not be null or empty.")
	}
	if strings.ContainsAny(c.Image, " \t\r\n") {
		return c.errorf("image", "image %q must not contain blanks.", c.Image)
	}
	for _, check := range []func(container) error{
		checkProcess, checkLabels, checkInteractive, checkSizes, checkTimeouts, checkEnvironment, checkSecrets, checkEnvironmentFiles, checkUlimits, checkLinuxParameters, checkLogConfiguration, checkDNS, checkVersionConsistency,
	} {
		if err := check(c); err != nil {
			return err
		}
	}
	if err := checkSystemControls(c, networkMode, ipcMode); err != nil {
		return err
	}
	if networkMode == "awsvpc" && c.Hostname != "" {
		return c.errorf("hostname", "hostname is not for networkMode awsvpc, in which all containers of a task have one: remove it.")
	}
	return checkPorts(c, networkMode)
}

// maxInteger bounds what the service model calls Integer.
const maxInteger = 1<<31 - 1

func checkSizes(c container) error {
	switch {
	case max(c.CPU, c.Memory, c.MemoryReservation) > maxInteger:
		return c.invalidf("", "'cpu', 'memory' and 'memoryReservation' must be at most %d.", maxInteger)
	case c.CPU < 0:
		return c.invalidf("cpu", "'cpu' must not be negative: %d.", c.CPU)
	case c.Memory != 0 && c.Memory < minMemory:
		return c.invalidf("memory", "'memory' must be at least %d MiB, not %d.", minMemory, c.Memory)
	case c.MemoryReservation != 0 && c.MemoryReservation < minMemory:
		return c.invalidf("memoryReservation", "'memoryReservation' must be at least %d MiB, not %d.", minMemory, c.MemoryReservation)
	case c.Memory != 0 && c.Memory <= c.MemoryReservation:
		return c.invalidf("memory", "'memory' must be greater than 'memoryReservation': %d is not greater than %d.", c.Memory, c.MemoryReservation)
	}
	return nil
}

func checkEnvironment(c container) error {
	if wrong := badVariable(c.Environment); wrong != "" {
		return c.errorf("environment", "%s.", wrong)
	}
	return nil
}

// badVariable is what is wrong with a variable that no environment can hold; empty when there is none. Values may be anything
// without a NUL.
func badVariable(environment []spec.KeyValue) string {
	for _, v := range environment {
		if v.Name == "" || strings.ContainsAny(v.Name, "=\x00") {
			return fmt.Sprintf("%q is not the name of an environment variable", v.Name)
		}
		if strings.Contains(v.Value, "\x00") {
			return fmt.Sprintf("the value of the environment variable %s has a NUL character in it", v.Name)
		}
	}
	return ""
}

func checkUlimits(c container) error {
	for i, u := range c.Ulimits {
		path := field.Index("ulimits", i)
		if !slices.Contains(types.UlimitNames, u.Name) {
			return c.errorf(field.Join(path, "name"), "ulimits.name must be one of %s, not %q.", strings.Join(types.UlimitNames, ", "), u.Name)
		}
		if slices.ContainsFunc(c.Ulimits[:i], func(other spec.Ulimit) bool { return other.Name == u.Name }) {
			return c.errorf(field.Join(path, "name"), "ulimit %s is there twice.", u.Name)
		}
		if u.SoftLimit < -1 || u.HardLimit < -1 || (u.HardLimit != -1 && (u.SoftLimit > u.HardLimit || u.SoftLimit == -1)) {
			return c.errorf(path, "ulimit %s: softLimit %d must not be above hardLimit %d (-1 is no limit).", u.Name, u.SoftLimit, u.HardLimit)
		}
	}
	return nil
}

func checkVersionConsistency(c container) error {
	switch c.VersionConsistency {
	case "", "enabled", spec.VersionConsistencyDisabled:
		return nil
	}
	return c.errorf("versionConsistency", "versionConsistency must be enabled or disabled, not %q.", c.VersionConsistency)
}
