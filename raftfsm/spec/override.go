package spec

import (
	"cmp"
	"slices"

	"pinion/raftfsm/envfile"
)

// TaskOverride changes a definition for one task; JSON names are ECS's.
type TaskOverride struct {
	Containers       []ContainerOverride `json:"containerOverrides"`
	CPU              string              `json:"cpu,omitempty"`
	Memory           string              `json:"memory,omitempty"`
	TaskRoleARN      string              `json:"taskRoleArn,omitempty"`
	ExecutionRoleARN string              `json:"executionRoleArn,omitempty"`     // echoed, without effect
	TaskRoleID       string              `json:"taskRoleId,omitempty" level:"1"` // of the role of the pool that taskRoleArn named when the task was made
}

// ContainerOverride changes one container for one task: the command, the environment (merged by name), CPU, memory,
// and the GPU requirement (replaced).
type ContainerOverride struct {
	Name                 string                `json:"name"`
	Command              []string              `json:"command,omitempty"`
	Environment          []KeyValue            `json:"environment,omitempty"`
	CPU                  *int64                `json:"cpu,omitempty"`
	Memory               *int64                `json:"memory,omitempty"`
	MemoryReservation    *int64                `json:"memoryReservation,omitempty"`
	ResourceRequirements []ResourceRequirement `json:"resourceRequirements,omitempty"`
	EnvironmentFiles     []envfile.File        `json:"environmentFiles,omitempty" level:"1"` // in place of those of the definition
}

// Effective merges a task's overrides into its definition. The definition itself is not changed; the answer shares
// with it what is not overridden, or is the definition itself, so neither is to be changed afterwards.
func Effective(d *TaskDefinition, o TaskOverride) *TaskDefinition {
	if !o.changes() {
		return d
	}
	merged := *d
	merged.CPU = cmp.Or(o.CPU, d.CPU)
	merged.Memory = cmp.Or(o.Memory, d.Memory)
	merged.Containers = slices.Clone(d.Containers)
	for _, override := range o.Containers {
		for i := range merged.Containers {
			if merged.Containers[i].Name == override.Name {
				override.into(&merged.Containers[i])
			}
		}
	}
	return &merged
}

// Role is the role that a task is given: the taskRoleArn of its overrides, or else of its definition, and the id of the role of the pool that this named when
// it was recorded; empty when the pool had none of the name.
func (o TaskOverride) Role(d *TaskDefinition) (arn, id string) {
	if o.TaskRoleARN != "" {
		return o.TaskRoleARN, o.TaskRoleID
	}
	return d.TaskRoleARN, d.TaskRoleID
}

// changes says whether it changes anything: most tasks only name their containers.
func (o *TaskOverride) changes() bool {
	return o.CPU != "" || o.Memory != "" || slices.ContainsFunc(o.Containers, ContainerOverride.changes)
}

func (o ContainerOverride) changes() bool {
	return len(o.Command)+len(o.Environment)+len(o.ResourceRequirements)+len(o.EnvironmentFiles) > 0 || o.CPU != nil || o.Memory != nil || o.MemoryReservation != nil
}

// into merges the override into a container that shares its slices with the definition.
func (o *ContainerOverride) into(c *ContainerDefinition) {
	if len(o.Command) > 0 {
		c.Command = o.Command
	}
	if len(o.ResourceRequirements) > 0 {
		c.ResourceRequirements = o.ResourceRequirements
	}
	if len(o.EnvironmentFiles) > 0 {
		c.EnvironmentFiles = o.EnvironmentFiles
	}
	c.Environment = MergeEnvironment(c.Environment, o.Environment)
	c.CPU = *cmp.Or(o.CPU, &c.CPU)
	c.Memory = *cmp.Or(o.Memory, &c.Memory)
	c.MemoryReservation = *cmp.Or(o.MemoryReservation, &c.MemoryReservation)
}

// MergeEnvironment is base with the changes: it replaces the values of names that are there and adds the others behind them.
func MergeEnvironment(base, changes []KeyValue) []KeyValue {
	if len(changes) == 0 {
		return base
	}
	merged := slices.Clone(base)
	for _, change := range changes {
		at := slices.IndexFunc(merged, func(known KeyValue) bool { return known.Name == change.Name })
		if at < 0 {
			merged = append(merged, change)
		} else {
			merged[at] = change
		}
	}
	return merged
}
