package taskdef

import (
	"encoding/json"
	"slices"
	"strings"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// maxDefinition is ECS's limit for a task definition, in bytes of JSON.
const maxDefinition = 64 << 10

// Parse checks a task definition and makes the document that is recorded and shown: with ECS's defaults and nothing else
// added, GPUs in ECS's own form.
func Parse(in *types.RegisterTaskDefinitionInput) (*spec.TaskDefinition, error) {
	if err := checkTask(in); err != nil {
		return nil, err
	}
	d := &spec.TaskDefinition{
		Family: in.Family, Status: spec.DefinitionActive, TaskRoleARN: in.TaskRoleARN, ExecutionRoleARN: in.ExecutionRoleARN,
		NetworkMode: in.NetworkMode, Volumes: []spec.Volume{}, PlacementConstraints: nonNil(in.PlacementConstraints),
		RequiresCompatibilities: in.RequiresCompatibilities, Compatibilities: []string{"EXTERNAL", "EC2"},
		PIDMode: in.PIDMode, IPCMode: in.IPCMode, RuntimePlatform: in.RuntimePlatform, Tags: in.Tags,
	}
	var err error
	if d.CPU, err = parseCPU("cpu", in.CPU); err != nil {
		return nil, err
	}
	if d.Memory, err = parseMemory("memory", in.Memory); err != nil {
		return nil, err
	}
	for _, volume := range in.Volumes {
		d.Volumes = append(d.Volumes, volume.Volume)
	}
	for i := range in.ContainerDefinitions {
		c, err := parseContainer(&in.ContainerDefinitions[i], containerPath(i), in.NetworkMode, in.IPCMode)
		if err != nil {
			return nil, err
		}
		d.Containers = append(d.Containers, c)
	}
	if err := checkDefinition(d); err != nil {
		return nil, err
	}
	if text, err := json.Marshal(d); err != nil || len(text) > maxDefinition {
		return nil, field.Errorf("", "The task definition is too large: %d bytes, at most %d are allowed.", len(text), maxDefinition)
	}
	return d, nil
}

func parseContainer(in *types.ContainerDefinitionInput, path, networkMode, ipcMode string) (spec.ContainerDefinition, error) {
	d := in.ContainerDefinition
	c := container{&d, path}
	d.MountPoints = nonNil(d.MountPoints)
	d.Environment = nonNil(slices.Clone(d.Environment))
	d.VolumesFrom = nonNil(d.VolumesFrom)
	d.PortMappings = []spec.PortMapping{}
	for _, port := range in.PortMappings {
		d.PortMappings = append(d.PortMappings, parsePort(port, networkMode))
	}
	if d.Essential == nil {
		yes := true
		d.Essential = &yes
	}
	var err error
	if d.HealthCheck, err = parseHealthCheck(c, in.HealthCheck); err != nil {
		return d, err
	}
	if d.RestartPolicy, err = parseRestartPolicy(c, in.RestartPolicy); err != nil {
		return d, err
	}
	if err := checkContainer(c, networkMode, ipcMode); err != nil {
		return d, err
	}
	request, err := parseGPUs(c, in.ResourceRequirements, in.GPUCount)
	if err != nil {
		return d, err
	}
	d.ResourceRequirements = request.requirements
	setsItself := slices.ContainsFunc(d.Environment, func(v spec.KeyValue) bool { return v.Name == driverCapabilities })
	if len(request.capabilities) > 0 && !setsItself {
		d.Environment = append(d.Environment, spec.KeyValue{Name: driverCapabilities, Value: strings.Join(request.capabilities, ",")})
	}
	return d, nil
}

// parsePort gives a port the protocol tcp, and in the modes host and awsvpc, where both are the same, its host port.
func parsePort(port spec.PortMapping, networkMode string) spec.PortMapping {
	if port.Protocol == "" {
		port.Protocol = "tcp"
	}
	if (networkMode == "host" || networkMode == "awsvpc") && port.HostPort == 0 {
		port.HostPort = port.ContainerPort
	}
	return port
}

// nonNil turns a list that is absent into an empty one, which is how ECS shows it.
func nonNil[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}
