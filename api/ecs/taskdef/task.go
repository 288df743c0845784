package taskdef

import (
	"slices"
	"strconv"

	"pinion/api/ecs/field"
	"pinion/api/ecs/tags"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// maxContainers is ECS's limit for the containers of a task definition.
const maxContainers = 10

// checkTask holds the rules for a task definition's own members, before its containers are looked at.
func checkTask(in *types.RegisterTaskDefinitionInput) error {
	if in.Family == "" {
		return field.Errorf("family", "Family should not be null or empty. Name the task definition with the field family (pinion register --family NAME).")
	}
	if !spec.ValidName(in.Family) {
		return field.Errorf("family", "Family contains invalid characters: 1 to 255 letters, digits, hyphens and underscores are allowed.")
	}
	if len(in.ContainerDefinitions) == 0 {
		return field.Errorf("containerDefinitions", "Container list cannot be empty.")
	}
	if len(in.ContainerDefinitions) > maxContainers {
		return field.Errorf("containerDefinitions", "A task definition can have at most %d containers, not %d.", maxContainers, len(in.ContainerDefinitions))
	}
	if err := tags.Check(in.Tags); err != nil {
		return err
	}
	if err := tags.CheckScheduling(in.Tags); err != nil {
		return err
	}
	if err := checkNamespaces(in); err != nil {
		return err
	}
	if err := checkDefinitionConstraints(in.PlacementConstraints); err != nil {
		return err
	}
	return checkPlatform(in)
}

// checkNamespaces holds the rules for the namespaces that the containers of a task share.
func checkNamespaces(in *types.RegisterTaskDefinitionInput) error {
	if err := field.OneOf("networkMode", in.NetworkMode, "bridge", "host", "awsvpc", "none"); err != nil {
		return err
	}
	if err := field.OneOf("pidMode", in.PIDMode, "host", "task"); err != nil {
		return err
	}
	return field.OneOf("ipcMode", in.IPCMode, "host", "task", "none")
}

func checkPlatform(in *types.RegisterTaskDefinitionInput) error {
	for i, compatibility := range in.RequiresCompatibilities {
		if compatibility != "EC2" && compatibility != "EXTERNAL" {
			return field.Errorf(field.Index("requiresCompatibilities", i), "requiresCompatibilities %s is not supported: Pinion runs tasks on your own hosts, which is EC2 or EXTERNAL.", compatibility)
		}
	}
	if in.RuntimePlatform == nil {
		return nil
	}
	if err := field.OneOf("runtimePlatform.operatingSystemFamily", in.RuntimePlatform.OperatingSystemFamily, "LINUX"); err != nil {
		return err
	}
	return field.OneOf("runtimePlatform.cpuArchitecture", in.RuntimePlatform.CPUArchitecture, "X86_64", "ARM64")
}

// checkDefinition holds the rules that span containers and volumes.
func checkDefinition(d *spec.TaskDefinition) error {
	if err := checkVolumes(d.Volumes); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range containersOf(d) {
		if seen[c.Name] {
			return field.Errorf(field.Join(c.path, "name"), "Container names must be unique: '%s' is there twice.", c.Name)
		}
		seen[c.Name] = true
		if d.Memory == "" && c.Memory == 0 && c.MemoryReservation == 0 {
			return c.invalidf("memory", "At least one of 'memory' or 'memoryReservation' must be specified.")
		}
		if err := checkMounts(c, d.Volumes); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(d.Containers, func(c spec.ContainerDefinition) bool { return c.IsEssential() }) {
		return field.Errorf("containerDefinitions", "At least one container in the task definition must be marked as essential.")
	}
	for _, check := range []func(*spec.TaskDefinition) error{checkHostPorts, checkLogRouter, checkDependsOn, checkGPUs, checkTaskTotals} {
		if err := check(d); err != nil {
			return err
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
		return field.Errorf("cpu", "Invalid 'cpu' setting for task: the containers ask for %d CPU units, the task has %d.", cpu, limit)
	}
	if limit, err := strconv.ParseInt(d.Memory, 10, 64); err == nil && memory > limit {
		return field.Errorf("memory", "Invalid 'memory' setting for task: the containers ask for %d MiB, the task has %d.", memory, limit)
	}
	return nil
}
