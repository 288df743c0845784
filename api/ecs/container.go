package ecs

import (
	"cmp"
	"strconv"

	"pinion/raftfsm/spec"
)

// container is ECS's Container: one container of a task.
type container struct {
	ARN               string                `json:"containerArn"`
	TaskARN           string                `json:"taskArn"`
	Name              string                `json:"name"`
	Image             string                `json:"image,omitempty"`
	ImageDigest       string                `json:"imageDigest,omitempty"`
	RuntimeID         string                `json:"runtimeId,omitempty"`
	LastStatus        string                `json:"lastStatus"`
	ExitCode          *int                  `json:"exitCode,omitempty"`
	Reason            string                `json:"reason,omitempty"`
	NetworkBindings   []spec.NetworkBinding `json:"networkBindings,omitzero"` // once it runs
	NetworkInterfaces []struct{}            `json:"networkInterfaces"`
	HealthStatus      string                `json:"healthStatus"`
	CPU               string                `json:"cpu,omitempty"`
	Memory            string                `json:"memory,omitempty"`
	MemoryReservation string                `json:"memoryReservation,omitempty"`
	GPUIDs            []string              `json:"gpuIds,omitempty"`
}

// renderContainers shows a task's containers with the sizes that its definition, nil when it is not known any more, and its
// overrides give them.
func (c *Request) renderContainers(t *spec.Task, taskARN string, d *spec.TaskDefinition) []container {
	if d != nil && len(t.Overrides.Containers) > 0 {
		d = spec.Effective(d, t.Overrides)
	}
	out := make([]container, 0, len(t.Containers))
	for i := range t.Containers {
		running := &t.Containers[i]
		shown := container{
			ARN: c.containerARN(t, running.ID), TaskARN: taskARN, Name: running.Name, Image: running.Image,
			ImageDigest: running.ImageDigest, RuntimeID: running.RuntimeID,
			LastStatus: string(cmp.Or(running.LastStatus, t.LastStatus)), ExitCode: running.ExitCode, Reason: running.Reason,
			NetworkInterfaces: []struct{}{}, HealthStatus: containerHealth(running), GPUIDs: running.GPUs,
		}
		if running.LastStatus.Rank() >= spec.Running.Rank() {
			shown.NetworkBindings = append([]spec.NetworkBinding{}, running.Bindings...)
		}
		if size := findContainer(d, running.Name); size != nil {
			shown.CPU, shown.Memory, shown.MemoryReservation = strconv.FormatInt(size.CPU, 10), formatMiB(size.Memory), formatMiB(size.MemoryReservation)
		}
		out = append(out, shown)
	}
	return out
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
