package taskdef

import (
	"encoding/json"
	"slices"

	"pinion/api/ecs/field"
	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

// maxOverrides is ECS's limit for the overrides of one call, in characters of JSON.
const maxOverrides = 8192

// ParseOverrides checks the overrides of a call against the definition that they change. Nil stands for none.
func ParseOverrides(in *types.TaskOverrideInput, d *spec.TaskDefinition) (spec.TaskOverride, error) {
	if in == nil {
		return spec.TaskOverride{}, nil
	}
	out := spec.TaskOverride{TaskRoleARN: in.TaskRoleARN, ExecutionRoleARN: in.ExecutionRoleARN}
	var err error
	if out.CPU, err = parseCPU("overrides.cpu", in.CPU); err != nil {
		return out, err
	}
	if out.Memory, err = parseMemory("overrides.memory", in.Memory); err != nil {
		return out, err
	}
	seen := map[string]bool{}
	for i := range in.ContainerOverrides {
		path := field.Index("overrides.containerOverrides", i)
		override, err := parseContainerOverride(&in.ContainerOverrides[i], path, d)
		if err != nil {
			return out, err
		}
		if seen[override.Name] {
			return out, field.Errorf(field.Join(path, "name"), "There is more than one override for container %s.", override.Name)
		}
		seen[override.Name] = true
		out.Containers = append(out.Containers, override)
	}
	if text, err := json.Marshal(out); err != nil || len(text) > maxOverrides {
		return out, field.Errorf("overrides", "Container Overrides length must be at most %d", maxOverrides)
	}
	effective := spec.Effective(d, out)
	if err := checkGPUs(effective); err != nil {
		return out, err
	}
	return out, checkTaskTotals(effective)
}

func parseContainerOverride(in *types.ContainerOverrideInput, path string, d *spec.TaskDefinition) (spec.ContainerOverride, error) {
	o := in.ContainerOverride
	at := slices.IndexFunc(d.Containers, func(c spec.ContainerDefinition) bool { return c.Name == o.Name })
	if at < 0 {
		return o, field.Errorf(field.Join(path, "name"), "Override for container named %s is not a container in the TaskDefinition.", o.Name)
	}
	if wrong := badVariable(o.Environment); wrong != "" {
		return o, field.Errorf(field.Join(path, "environment"), "Override for container %s: %s.", o.Name, wrong)
	}
	if hasNUL(o.Command) {
		return o, field.Errorf(field.Join(path, "command"), "Override for container %s: command must not contain NUL characters.", o.Name)
	}
	if err := checkEnvironmentFiles(container{&spec.ContainerDefinition{Name: o.Name, EnvironmentFiles: o.EnvironmentFiles}, path}); err != nil {
		return o, err
	}
	request, err := parseGPUs(container{&d.Containers[at], path}, in.ResourceRequirements, nil)
	if err != nil {
		return o, err
	}
	if len(request.capabilities) > 0 {
		return o, field.Errorf(field.Join(path, "resourceRequirements"), "Override for container %s: capabilities belong to the task definition; set %s in environment.", o.Name, driverCapabilities)
	}
	o.ResourceRequirements = request.requirements
	effective := spec.Effective(d, spec.TaskOverride{Containers: []spec.ContainerOverride{o}}).Containers[at]
	return o, checkSizes(container{&effective, path})
}
