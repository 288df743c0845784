package view

import (
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// Definition renders a task definition.
func (r *Renderer) Definition(d *spec.TaskDefinition) types.TaskDefinition {
	return types.TaskDefinition{
		TaskDefinitionARN: r.DefinitionARN(d.Name()), ContainerDefinitions: d.Containers, Family: d.Family, TaskRoleARN: d.TaskRoleARN,
		ExecutionRoleARN: d.ExecutionRoleARN, NetworkMode: d.NetworkMode, Revision: d.Revision, Volumes: d.Volumes,
		Status: string(d.Status), RequiresAttributes: d.RequiredAttributes(), PlacementConstraints: d.PlacementConstraints,
		Compatibilities: d.Compatibilities, RuntimePlatform: d.RuntimePlatform,
		RequiresCompatibilities: d.RequiresCompatibilities, CPU: d.CPU, Memory: d.Memory, PIDMode: d.PIDMode,
		IPCMode: d.IPCMode, RegisteredAt: wire.NewTime(d.RegisteredAt), DeregisteredAt: wire.NewTime(d.DeregisteredAt),
		DeleteRequestedAt: wire.NewTime(d.DeleteRequestedAt), RegisteredBy: d.RegisteredBy,
	}
}
