package ecs

import (
	"fmt"
	"path"
	"slices"
	"strconv"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// checkTask holds the rules for a task definition's own fields, before its containers are looked at.
func (in *registerInput) checkTask() error {
	if in.Family == "" {
		return wire.Errorf(wire.Client, "Family should not be null or empty. Name the task definition with the field family (pinion register --family NAME).")
	}
	if !resourceName.MatchString(in.Family) {
		return wire.Errorf(wire.Client, "Family contains invalid characters: 1 to 255 letters, digits, hyphens and underscores are allowed.")
	}
	if len(in.Containers) == 0 {
		return wire.Errorf(wire.Client, "Container list cannot be empty.")
	}
	if err := checkTags(in.Tags); err != nil {
		return err
	}
	if err := checkSchedulingTags(in.Tags); err != nil {
		return err
	}
	if in.NetworkMode == "awsvpc" {
		return wire.Errorf(wire.Client, "networkMode awsvpc is not supported by Pinion yet: use bridge, host or none.")
	}
	if err := inEnum("networkMode", in.NetworkMode, "bridge", "host", "none"); err != nil {
		return err
	}
	if in.PIDMode == "task" || in.IPCMode == "task" {
		return wire.Errorf(wire.Client, "pidMode and ipcMode 'task' are not supported by Pinion yet: leave them out, or share the host's with 'host'.")
	}
	if err := inEnum("pidMode", in.PIDMode, "host"); err != nil {
		return err
	}
	if err := inEnum("ipcMode", in.IPCMode, "host", "none"); err != nil {
		return err
	}
	if err := checkDefinitionConstraints(in.PlacementConstraints); err != nil {
		return err
	}
	return in.checkPlatform()
}

func (in *registerInput) checkPlatform() error {
	for _, compatibility := range in.RequiresCompatibilities {
		if compatibility != launchEC2 && compatibility != launchExternal {
			return wire.Errorf(wire.Client, "requiresCompatibilities %s is not supported: Pinion runs tasks on your own hosts, which is EC2 or EXTERNAL.", compatibility)
		}
	}
	if in.RuntimePlatform == nil {
		return nil
	}
	if err := inEnum("runtimePlatform.operatingSystemFamily", in.RuntimePlatform.OperatingSystemFamily, "LINUX"); err != nil {
		return err
	}
	return inEnum("runtimePlatform.cpuArchitecture", in.RuntimePlatform.CPUArchitecture, "X86_64", "ARM64")
}

// asClientException makes a complaint ECS's type for everything that is wrong with a task definition.
func asClientException(err error) error {
	if complaint, ok := err.(*wire.Error); ok {
		return wire.Errorf(wire.Client, "%s", complaint.Message)
	}
	return err
}

// checkDefinition holds the rules that span containers and volumes.
func checkDefinition(d *spec.TaskDefinition) error {
	if err := checkVolumes(d.Volumes); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range d.Containers {
		c := &d.Containers[i]
		if seen[c.Name] {
			return wire.Errorf(wire.Client, "Container names must be unique: '%s' is there twice.", c.Name)
		}
		seen[c.Name] = true
		if d.Memory == "" && c.Memory == 0 && c.MemoryReservation == 0 {
			return wire.Errorf(wire.Client, "Invalid setting for container '%s'. At least one of 'memory' or 'memoryReservation' must be specified.", c.Name)
		}
		if err := checkMounts(c, d.Volumes); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(d.Containers, func(c spec.ContainerDefinition) bool { return c.IsEssential() }) {
		return wire.Errorf(wire.Client, "At least one container in the task definition must be marked as essential.")
	}
	if err := checkHostPorts(d.Containers); err != nil {
		return err
	}
	for _, check := range []func(*spec.TaskDefinition) error{checkDependsOn, checkGPUs, checkTaskTotals} {
		if err := check(d); err != nil {
			return err
		}
	}
	return nil
}

// checkHostPorts refuses a task that would be in its own way.
func checkHostPorts(containers []spec.ContainerDefinition) error {
	taken, named := map[string]bool{}, map[string]bool{}
	for _, c := range containers {
		for _, p := range c.PortMappings {
			port := fmt.Sprintf("%d/%s", p.HostPort, p.Protocol)
			if p.HostPort != 0 && taken[port] {
				return wire.Errorf(wire.Client, "Container '%s': host port %s is mapped twice in this task definition.", c.Name, port)
			}
			taken[port] = true
			if named[p.Name] {
				return wire.Errorf(wire.Client, "Container '%s': the name %s of a port is there twice in this task definition.", c.Name, p.Name)
			}
			named[p.Name] = p.Name != ""
		}
	}
	return nil
}

// checkTaskTotals holds the containers against the size of the task. d.CPU and d.Memory are decimals or empty.
func checkTaskTotals(d *spec.TaskDefinition) error {
	var cpu, memory int64
	for _, c := range d.Containers {
		cpu += c.CPU
		if c.MemoryReservation > 0 {
			memory += c.MemoryReservation
		} else {
			memory += c.Memory
		}
	}
	if limit, err := strconv.ParseInt(d.CPU, 10, 64); err == nil && cpu > limit {
		return wire.Errorf(wire.Client, "Invalid 'cpu' setting for task: the containers ask for %d CPU units, the task has %d.", cpu, limit)
	}
	if limit, err := strconv.ParseInt(d.Memory, 10, 64); err == nil && memory > limit {
		return wire.Errorf(wire.Client, "Invalid 'memory' setting for task: the containers ask for %d MiB, the task has %d.", memory, limit)
	}
	return nil
}

func checkVolumes(volumes []spec.Volume) error {
	seen := map[string]bool{}
	for _, v := range volumes {
		if !resourceName.MatchString(v.Name) {
			return wire.Errorf(wire.Client, "Volume names must be 1 to 255 letters, digits, hyphens and underscores, not %q.", v.Name)
		}
		if seen[v.Name] {
			return wire.Errorf(wire.Client, "Volume names must be unique: '%s' is there twice.", v.Name)
		}
		seen[v.Name] = true
		if v.Host != nil && v.Host.SourcePath != "" && !path.IsAbs(v.Host.SourcePath) {
			return wire.Errorf(wire.Client, "Volume '%s': host.sourcePath must be an absolute path, not %q.", v.Name, v.Host.SourcePath)
		}
	}
	return nil
}

func checkMounts(c *spec.ContainerDefinition, volumes []spec.Volume) error {
	for at, m := range c.MountPoints {
		again := func(other spec.MountPoint) bool {
			return path.Clean(other.ContainerPath) == path.Clean(m.ContainerPath)
		}
		if slices.ContainsFunc(c.MountPoints[:at], again) {
			return wire.Errorf(wire.Client, "Container '%s': something is mounted at %s already: mountPoints must have different containerPaths.", c.Name, m.ContainerPath)
		}
		if !slices.ContainsFunc(volumes, func(v spec.Volume) bool { return v.Name == m.SourceVolume }) {
			return wire.Errorf(wire.Client, "Container '%s': unknown volume '%s' in mountPoints.", c.Name, m.SourceVolume)
		}
		if !path.IsAbs(m.ContainerPath) {
			return wire.Errorf(wire.Client, "Container '%s': mountPoints.containerPath must be an absolute path, not %q.", c.Name, m.ContainerPath)
		}
	}
	return nil
}
