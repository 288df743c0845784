package ecs

import (
	"encoding/json"
	"slices"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// maxOverrides is ECS's limit for the overrides of one call, in characters of JSON.
const maxOverrides = 8192

type overrideInput struct {
	Containers       []containerOverrideInput `json:"containerOverrides"`
	CPU              string                   `json:"cpu"`
	Memory           string                   `json:"memory"`
	TaskRoleARN      string                   `json:"taskRoleArn"`      // echoed, without effect
	ExecutionRoleARN string                   `json:"executionRoleArn"` // echoed, without effect
	Accelerators     wire.Unsupported         `json:"inferenceAcceleratorOverrides" why:"GPUs are asked for with resourceRequirements"`
	EphemeralStorage wire.Unsupported         `json:"ephemeralStorage" why:"it belongs to Fargate"`
}

type containerOverrideInput struct {
	spec.ContainerOverride
	ResourceRequirements []requirementInput `json:"resourceRequirements"`
	EnvironmentFiles     wire.Unsupported   `json:"environmentFiles" why:"there is no S3 here; put the variables into environment"`
}

// normalise checks the overrides of a call against the definition that they change.
func (in *overrideInput) normalise(d *spec.TaskDefinition) (spec.TaskOverride, error) {
	if in == nil {
		return spec.TaskOverride{}, nil
	}
	out := spec.TaskOverride{TaskRoleARN: in.TaskRoleARN, ExecutionRoleARN: in.ExecutionRoleARN}
	var err error
	if out.CPU, err = parseTaskCPU(in.CPU); err != nil {
		return out, asInvalidParameter(err)
	}
	if out.Memory, err = parseTaskMemory(in.Memory); err != nil {
		return out, asInvalidParameter(err)
	}
	seen := map[string]bool{}
	for _, container := range in.Containers {
		override, err := container.normalise(d)
		if err != nil {
			return out, asInvalidParameter(err)
		}
		if seen[override.Name] {
			return out, wire.Errorf(wire.InvalidParameter, "There is more than one override for container %s.", override.Name)
		}
		seen[override.Name] = true
		out.Containers = append(out.Containers, override)
	}
	if text, err := json.Marshal(out); err != nil || len(text) > maxOverrides {
		return out, wire.Errorf(wire.InvalidParameter, "Container Overrides length must be at most %d", maxOverrides)
	}
	effective := spec.Effective(d, out)
	if err := checkGPUs(effective); err != nil {
		return out, asInvalidParameter(err)
	}
	return out, asInvalidParameter(checkTaskTotals(effective))
}

func (in *containerOverrideInput) normalise(d *spec.TaskDefinition) (spec.ContainerOverride, error) {
	o := in.ContainerOverride
	at := slices.IndexFunc(d.Containers, func(c spec.ContainerDefinition) bool { return c.Name == o.Name })
	if at < 0 {
		return o, wire.Errorf(wire.InvalidParameter, "Override for container named %s is not a container in the TaskDefinition.", o.Name)
	}
	if name, bad := badVariable(o.Environment); bad {
		return o, wire.Errorf(wire.InvalidParameter, "Override for container %s: %q is not the name of an environment variable.", o.Name, name)
	}
	demand, err := parseGPUs(o.Name, in.ResourceRequirements, nil)
	if err != nil {
		return o, err
	}
	if len(demand.capabilities) > 0 {
		return o, wire.Errorf(wire.InvalidParameter, "Override for container %s: capabilities belong to the task definition; set %s in environment.", o.Name, driverCapabilities)
	}
	o.ResourceRequirements = demand.requirements
	effective := spec.Effective(d, spec.TaskOverride{Containers: []spec.ContainerOverride{o}}).Containers[at]
	return o, checkSizes(&effective)
}

// asInvalidParameter makes a complaint the type that ECS answers with when a call, not a task definition, is wrong.
func asInvalidParameter(err error) error {
	if complaint, ok := err.(*wire.Error); ok {
		return wire.Errorf(wire.InvalidParameter, "%s", complaint.Message)
	}
	return err
}
