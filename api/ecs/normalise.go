package ecs

import (
	"encoding/json"
	"slices"
	"strings"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// maxDefinition is ECS's limit for a task definition, in bytes of JSON.
const maxDefinition = 64 << 10

// normalise checks what came in as ECS does, and makes the document that is stored and shown: with ECS's defaults
// and nothing else added, GPUs in ECS's own form.
func (in *registerInput) normalise() (*spec.TaskDefinition, error) {
	d := &spec.TaskDefinition{
		Family: in.Family, Status: spec.DefinitionActive, TaskRoleARN: in.TaskRoleARN, ExecutionRoleARN: in.ExecutionRoleARN,
		NetworkMode: in.NetworkMode, Volumes: []spec.Volume{}, PlacementConstraints: nonNil(in.PlacementConstraints),
		RequiresCompatibilities: in.RequiresCompatibilities, Compatibilities: []string{"EXTERNAL", "EC2"},
		PIDMode: in.PIDMode, IPCMode: in.IPCMode, RuntimePlatform: in.RuntimePlatform, Tags: in.Tags,
	}
	if err := in.checkTask(); err != nil {
		return nil, asClientException(err)
	}
	var err error
	if d.CPU, err = parseTaskCPU(in.CPU); err != nil {
		return nil, err
	}
	if d.Memory, err = parseTaskMemory(in.Memory); err != nil {
		return nil, err
	}
	for _, volume := range in.Volumes {
		d.Volumes = append(d.Volumes, volume.Volume)
	}
	for _, container := range in.Containers {
		c, err := container.normalise(in.NetworkMode, in.IPCMode)
		if err != nil {
			return nil, err
		}
		d.Containers = append(d.Containers, c)
	}
	if err := checkDefinition(d); err != nil {
		return nil, err
	}
	if text, err := json.Marshal(d); err != nil || len(text) > maxDefinition {
		return nil, wire.Errorf(wire.Client, "The task definition is too large: %d bytes, at most %d are allowed.", len(text), maxDefinition)
	}
	return d, nil
}

func (in *containerInput) normalise(networkMode, ipcMode string) (spec.ContainerDefinition, error) {
	c := in.ContainerDefinition
	c.MountPoints = nonNil(c.MountPoints)
	c.Environment = nonNil(slices.Clone(c.Environment))
	c.VolumesFrom = nonNil(c.VolumesFrom)
	c.PortMappings = []spec.PortMapping{}
	for _, port := range in.PortMappings {
		c.PortMappings = append(c.PortMappings, port.normalise(networkMode))
	}
	if c.Essential == nil {
		yes := true
		c.Essential = &yes
	}
	if in.LinuxParameters != nil {
		c.LinuxParameters = &in.LinuxParameters.LinuxParameters
	}
	if in.LogConfiguration != nil {
		c.LogConfiguration = &in.LogConfiguration.LogConfiguration
	}
	var err error
	if c.HealthCheck, err = in.HealthCheck.normalise(c.Name); err != nil {
		return c, err
	}
	if c.RestartPolicy, err = in.RestartPolicy.normalise(c.Name); err != nil {
		return c, err
	}
	if err := checkContainer(&c, networkMode, ipcMode); err != nil {
		return c, err
	}
	demand, err := parseGPUs(c.Name, in.ResourceRequirements, in.GPUCount)
	if err != nil {
		return c, err
	}
	c.ResourceRequirements = demand.requirements
	setsItself := slices.ContainsFunc(c.Environment, func(v spec.KeyValue) bool { return v.Name == driverCapabilities })
	if len(demand.capabilities) > 0 && !setsItself {
		c.Environment = append(c.Environment, spec.KeyValue{Name: driverCapabilities, Value: strings.Join(demand.capabilities, ",")})
	}
	return c, nil
}

// normalise gives a port the protocol tcp, and in host mode, where both are the same, its host port.
func (in *portInput) normalise(networkMode string) spec.PortMapping {
	port := in.PortMapping
	if port.Protocol == "" {
		port.Protocol = "tcp"
	}
	if networkMode == "host" && port.HostPort == 0 {
		port.HostPort = port.ContainerPort
	}
	return port
}
