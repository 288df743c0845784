package view

import (
	"maps"
	"slices"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// Statuses of container instances.
const (
	InstanceActive   = "ACTIVE"
	InstanceInactive = "INACTIVE"
)

// Instance renders a host as a container instance.
func (r *Renderer) Instance(h *spec.Host, include []string) types.ContainerInstance {
	count := countTasks(r.View.TasksOn(h.ID))
	connected, free := r.Hosts.Connected(h.ID), r.View.Free(h.ID)
	out := types.ContainerInstance{
		ContainerInstanceARN: r.InstanceARN(h.Cluster, h.ID), EC2InstanceID: h.Name, Version: h.Revision,
		VersionInfo: types.VersionInfo{AgentVersion: h.Version, AgentHash: h.Build, DockerVersion: h.Runtime}, RemainingResources: remainingResources(h, free), GPUDevices: gpuDevices(h, free),
		RegisteredResources: registeredResources(h), Status: string(h.Status), AgentConnected: connected,
		RunningTasksCount: count.running(), PendingTasksCount: count.pending(), Attributes: hostAttributes(h),
		RegisteredAt: wire.NewTime(h.RegisteredAt), Attachments: []types.Attachment{}, Tags: []spec.Tag{},
	}
	if slices.Contains(include, "TAGS") {
		out.Tags = nonNil(h.Tags)
	}
	if slices.Contains(include, "CONTAINER_INSTANCE_HEALTH") {
		out.HealthStatus = r.instanceHealth(h, connected)
	}
	return out
}

func hostAttributes(h *spec.Host) []spec.Attribute {
	attributes := []spec.Attribute{}
	all := h.AllAttributes()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		attributes = append(attributes, spec.Attribute{Name: name, Value: all[name]})
	}
	return attributes
}
