package view

import (
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// ListedTask is the part of a task that lists show, with the names of DescribeTasks, which has the rest: a list of many tasks takes a
// fifth of the bytes.
type ListedTask struct {
	TaskARN              string            `json:"taskArn"`
	TaskDefinitionARN    string            `json:"taskDefinitionArn"`
	ContainerInstanceARN string            `json:"containerInstanceArn,omitempty"`
	Group                string            `json:"group,omitempty"`
	LastStatus           spec.Status       `json:"lastStatus"`
	DesiredStatus        spec.Status       `json:"desiredStatus"`
	StopCode             spec.StopCode     `json:"stopCode,omitempty"`
	StoppedReason        string            `json:"stoppedReason,omitempty"`
	CreatedAt            wire.Time         `json:"createdAt,omitzero"`
	StartedAt            wire.Time         `json:"startedAt,omitzero"`
	StoppedAt            wire.Time         `json:"stoppedAt,omitzero"`
	Containers           []ListedContainer `json:"containers"`
	Attributes           []spec.Attribute  `json:"attributes,omitempty"`
}

// ListedContainer is the part of a container that lists show.
type ListedContainer struct {
	ExitCode *int                  `json:"exitCode,omitempty"`
	Reason   string                `json:"reason,omitempty"`
	GPUs     []string              `json:"gpuIds,omitempty"`
	Sharing  *spec.SharingStrategy `json:"gpuSharingStrategy,omitempty"`
	Bindings []spec.NetworkBinding `json:"networkBindings,omitempty"`

	NetworkInterfaces []types.NetworkInterface `json:"networkInterfaces,omitempty"`
}

// ListedTask renders the part of a task that lists show.
func (r *Renderer) ListedTask(t *spec.Task) ListedTask {
	out := ListedTask{
		TaskARN: r.TaskARN(t.Cluster, t.ID), TaskDefinitionARN: r.DefinitionARN(t.Definition), Group: t.Group, LastStatus: t.LastStatus,
		DesiredStatus: t.DesiredStatus, StopCode: t.StopCode, StoppedReason: t.StoppedReason, CreatedAt: wire.NewTime(t.CreatedAt),
		StartedAt: wire.NewTime(t.Times.Started), StoppedAt: wire.NewTime(t.Times.Stopped),
		Containers: make([]ListedContainer, len(t.Containers)), Attributes: taskAttributes(t, r.definition(t.Definition)),
	}
	if t.HostID != "" {
		out.ContainerInstanceARN = r.InstanceARN(t.Cluster, t.HostID)
	}
	for i := range t.Containers {
		c := &t.Containers[i]
		out.Containers[i] = ListedContainer{ExitCode: c.ExitCode, Reason: c.Reason, GPUs: c.GPUs, Sharing: c.Share.Strategy(), Bindings: c.Bindings, NetworkInterfaces: networkInterfaces(t, c)}
	}
	return out
}
