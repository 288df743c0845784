package ecs

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

type describeTasksInput struct {
	Cluster string   `json:"cluster"`
	Tasks   []string `json:"tasks"`
	Include []string `json:"include"`
}

// describeTasksOutput is written by itself: its tasks are JSON already.
type describeTasksOutput struct {
	Tasks    []*task   `json:"tasks"` // see shown
	Failures []failure `json:"failures"`
}

var _ wire.Appender = (*describeTasksOutput)(nil)

// AppendJSON is wire.Appender.
func (o *describeTasksOutput) AppendJSON(text []byte) ([]byte, error) {
	size := 0
	for _, task := range o.Tasks {
		size += len(task.text) + len(",")
	}
	text = append(slices.Grow(text, size+64), `{"tasks":[`...)
	for i, task := range o.Tasks {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, task.text...)
	}
	text, err := wire.Append(append(text, `],"failures":`...), o.Failures)
	return append(text, '}'), err
}

func (c *Request) describeTasks(_ context.Context, in *describeTasksInput) (*describeTasksOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	if err := allInEnum("include", in.Include, "TAGS"); err != nil {
		return nil, err
	}
	if len(in.Tasks) == 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "Tasks cannot be empty.")
	}
	if len(in.Tasks) > maxPage {
		return nil, wire.Errorf(wire.InvalidParameter, "taskIds can have at most %d items.", maxPage)
	}
	out := &describeTasksOutput{Tasks: make([]*task, 0, len(in.Tasks)), Failures: []failure{}}
	for _, given := range in.Tasks {
		id, err := parseInCluster(k.Name, "task", given)
		if err != nil {
			return nil, err
		}
		if t := c.View.Task(id); t != nil && t.Cluster == k.Name {
			shown, err := c.cachedTask(t, len(in.Include) > 0)
			if err != nil {
				return nil, err
			}
			out.Tasks = append(out.Tasks, shown)
			continue
		}
		out.Failures = append(out.Failures, failure{ARN: c.taskARN(k.Name, id), Reason: spec.ReasonMissing})
	}
	return out, nil
}

type stopTaskInput struct {
	Cluster string `json:"cluster"`
	Task    string `json:"task"`
	Reason  string `json:"reason"`
}

type stopTaskOutput struct {
	Task task `json:"task"`
}

// maxReason bounds what a caller can put into the state.
const maxReason = 1024

func (c *Request) stopTask(ctx context.Context, in *stopTaskInput) (*stopTaskOutput, error) {
	k, err := c.resolveCluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	id, err := parseInCluster(k.Name, "task", in.Task)
	if err != nil {
		return nil, err
	}
	if len(in.Reason) > maxReason {
		return nil, wire.Errorf(wire.InvalidParameter, "reason must be at most %d characters long, not %d.", maxReason, len(in.Reason))
	}
	if t := c.View.Task(id); t == nil || t.Cluster != k.Name {
		return nil, wire.Errorf(wire.InvalidParameter, "The referenced task was not found.")
	}
	stopped, err := apply[*spec.Task](ctx, c, raftfsm.StopTask{ID: id, Code: spec.StopUserInitiated, Reason: in.Reason, At: c.Now()})
	if err != nil {
		return nil, err
	}
	return &stopTaskOutput{c.renderTask(stopped, false)}, nil
}

// task is ECS's Task. The Go SDK aborts a call when cpu or memory of a container is a number: they are strings.
type task struct {
	Attachments       []struct{}       `json:"attachments"`
	Attributes        []spec.Attribute `json:"attributes"`
	AvailabilityZone  string           `json:"availabilityZone,omitempty"`
	CapacityProvider  string           `json:"capacityProviderName,omitempty"`
	ClusterARN        string           `json:"clusterArn"`
	Connectivity      string           `json:"connectivity,omitempty"`
	ConnectivityAt    wire.Time        `json:"connectivityAt,omitzero"`
	InstanceARN       string           `json:"containerInstanceArn,omitempty"`
	Containers        []container      `json:"containers"`
	CPU               string           `json:"cpu"`
	CreatedAt         wire.Time        `json:"createdAt,omitzero"`
	DesiredStatus     string           `json:"desiredStatus"`
	EnableExecute     bool             `json:"enableExecuteCommand"`
	ExecutionStopped  wire.Time        `json:"executionStoppedAt,omitzero"`
	Group             string           `json:"group"`
	HealthStatus      string           `json:"healthStatus"`
	LastStatus        string           `json:"lastStatus"`
	LaunchType        string           `json:"launchType"`
	Memory            string           `json:"memory"`
	Overrides         taskOverrides    `json:"overrides"`
	PullStartedAt     wire.Time        `json:"pullStartedAt,omitzero"`
	PullStoppedAt     wire.Time        `json:"pullStoppedAt,omitzero"`
	StartedAt         wire.Time        `json:"startedAt,omitzero"`
	StartedBy         string           `json:"startedBy,omitempty"`
	StopCode          string           `json:"stopCode,omitempty"`
	StoppedAt         wire.Time        `json:"stoppedAt,omitzero"`
	StoppedReason     string           `json:"stoppedReason,omitempty"`
	StoppingAt        wire.Time        `json:"stoppingAt,omitzero"`
	Tags              []spec.Tag       `json:"tags"`
	TaskARN           string           `json:"taskArn"`
	TaskDefinitionARN string           `json:"taskDefinitionArn"`
	Version           int64            `json:"version"`

	text []byte // all this as JSON; only in what Call.shown returns
}

// renderTask shows a task. What it looks at beside the task itself is in basis.
func (c *Request) renderTask(t *spec.Task, withTags bool) task {
	arn, definition := c.taskARN(t.Cluster, t.ID), c.lookupDefinition(t.Definition)
	out := task{
		Attachments: []struct{}{}, Attributes: taskAttributes(t), CapacityProvider: t.CapacityProvider, ClusterARN: c.clusterARN(t.Cluster),
		Containers: c.renderContainers(t, arn, definition), CPU: strconv.FormatInt(t.CPU, 10), CreatedAt: wire.NewTime(t.CreatedAt),
		DesiredStatus: string(t.DesiredStatus), ExecutionStopped: wire.NewTime(t.Times.ExecutionStopped), Group: t.Group,
		HealthStatus: taskHealth(t, definition), LastStatus: string(t.LastStatus), LaunchType: cmp.Or(t.LaunchType, launchEC2),
		Memory: strconv.FormatInt(t.MemoryMiB, 10), Overrides: renderOverrides(t), PullStartedAt: wire.NewTime(t.Times.PullStarted),
		PullStoppedAt: wire.NewTime(t.Times.PullStopped), StartedAt: wire.NewTime(t.Times.Started), StartedBy: t.StartedBy,
		StopCode: string(t.StopCode), StoppedAt: wire.NewTime(t.Times.Stopped), StoppedReason: t.StoppedReason,
		StoppingAt: wire.NewTime(t.Times.Stopping), Tags: []spec.Tag{}, TaskARN: arn,
		TaskDefinitionARN: c.definitionARN(t.Definition), Version: t.Version,
	}
	if withTags {
		out.Tags = nonNil(t.Tags)
	}
	if t.HostID != "" {
		c.renderPlacement(&out, t)
	}
	return out
}

// renderPlacement adds what comes from the host that the task is bound to.
func (c *Request) renderPlacement(out *task, t *spec.Task) {
	out.InstanceARN = c.instanceARN(t.Cluster, t.HostID)
	host, connected := c.lookupHost(t.HostID)
	if t.LastStatus.Rank() > spec.Pending.Rank() {
		out.Connectivity = "DISCONNECTED"
		if connected {
			// When the host came back is nobody's memory: this is when it was heard of the task first.
			out.Connectivity, out.ConnectivityAt = "CONNECTED", wire.NewTime(t.Times.PullStarted)
		}
	}
	if host == nil {
		return
	}
	out.AvailabilityZone, _ = host.Attribute("ecs.availability-zone")
	if arch, _ := host.Attribute("ecs.cpu-architecture"); arch != "" {
		out.Attributes = append(out.Attributes, spec.Attribute{Name: "ecs.cpu-architecture", Value: arch})
	}
}

// taskOverrides always lists every container of the task by name.
type taskOverrides struct {
	spec.TaskOverride
	Accelerators []struct{} `json:"inferenceAcceleratorOverrides"`
}

func renderOverrides(t *spec.Task) taskOverrides {
	out := taskOverrides{t.Overrides, []struct{}{}}
	out.Containers = make([]spec.ContainerOverride, 0, len(t.Containers))
	for _, running := range t.Containers {
		override := spec.ContainerOverride{Name: running.Name}
		given := slices.IndexFunc(t.Overrides.Containers, func(o spec.ContainerOverride) bool { return o.Name == running.Name })
		if given >= 0 {
			override = t.Overrides.Containers[given]
		}
		out.Containers = append(out.Containers, override)
	}
	return out
}
