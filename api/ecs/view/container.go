package view

import (
	"cmp"
	"strconv"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// containers renders a task's containers with the sizes that its definition, nil when it is not known any more, and its
// overrides give them.
func (r *Renderer) containers(t *spec.Task, taskARN string, d *spec.TaskDefinition) []types.Container {
	if d != nil {
		d = spec.Effective(d, t.Overrides.Get())
	}
	out := make([]types.Container, 0, len(t.Containers))
	for i := range t.Containers {
		running := &t.Containers[i]
		rendered := types.Container{
			ContainerARN: r.ContainerARN(t, running.ID), TaskARN: taskARN, Name: running.Name, Image: running.Image,
			ImageDigest: running.ImageDigest, RuntimeID: running.RuntimeID,
			LastStatus: string(cmp.Or(running.LastStatus, t.LastStatus)), ExitCode: running.ExitCode, Reason: running.Reason,
			NetworkInterfaces: []types.NetworkInterface{}, HealthStatus: containerHealth(running), GPUIDs: running.GPUs, PeakMemory: running.PeakMemory, GPUTotals: running.GPUTotals,
		}
		if t.Exec {
			rendered.ManagedAgents = execAgent(t, running)
		}
		if running.LastStatus.Rank() >= spec.Running.Rank() {
			rendered.NetworkBindings = append([]spec.NetworkBinding{}, running.Bindings...)
		}
		if size := findContainer(d, running.Name); size != nil {
			rendered.CPU, rendered.Memory, rendered.MemoryReservation = strconv.FormatInt(size.CPU, 10), formatMiB(size.Memory), formatMiB(size.MemoryReservation)
			rendered.GPUSharingStrategy = size.Sharing()
		}
		out = append(out, rendered)
	}
	return out
}

// execAgent is what ECS says of the agent in a container that runs the commands of ExecuteCommand. Here the host does, as soon as the container runs.
func execAgent(t *spec.Task, c *spec.Container) []types.ManagedAgent {
	agent := types.ManagedAgent{Name: "ExecuteCommandAgent", LastStatus: string(spec.Pending)}
	switch status := cmp.Or(c.LastStatus, t.LastStatus); {
	case status == spec.Running:
		agent.LastStatus, agent.LastStartedAt = string(spec.Running), wire.NewTime(t.Times.Started)
	case status.Rank() > spec.Running.Rank():
		agent.LastStatus = string(spec.Stopped)
	}
	return []types.ManagedAgent{agent}
}

// findContainer is the container of that name in a definition, nil when there is none.
func findContainer(d *spec.TaskDefinition, name string) *spec.ContainerDefinition {
	if d == nil {
		return nil
	}
	for i := range d.Containers {
		if d.Containers[i].Name == name {
			return &d.Containers[i]
		}
	}
	return nil
}

// formatMiB writes a size as ECS does in tasks; no limit is nothing at all.
func formatMiB(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}
