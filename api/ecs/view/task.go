package view

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
)

// Launch types of ECS. Tasks that name none have EC2; the last two run on machines of AWS, which there are none of here.
const (
	LaunchTypeEC2              = "EC2"
	LaunchTypeExternal         = "EXTERNAL"
	LaunchTypeFargate          = "FARGATE"
	LaunchTypeManagedInstances = "MANAGED_INSTANCES"
)

// Task renders a task. What it depends on beside the task itself stands in taskKey.
func (r *Renderer) Task(t *spec.Task, withTags bool) types.Task {
	taskARN, definition := r.TaskARN(t.Cluster, t.ID), r.definition(t.Definition)
	out := types.Task{
		Attachments: []types.Attachment{}, Attributes: taskAttributes(t, definition), CapacityProviderName: t.CapacityProvider, ClusterARN: r.ClusterARN(t.Cluster),
		Containers: r.containers(t, taskARN, definition), CPU: strconv.FormatInt(t.CPU, 10), CreatedAt: wire.NewTime(t.CreatedAt),
		DesiredStatus: string(t.DesiredStatus), EnableExecuteCommand: t.Exec, ExecutionStoppedAt: wire.NewTime(t.Times.ExecutionStopped), Group: t.Group,
		HealthStatus: taskHealth(t, definition), LastStatus: string(t.LastStatus), LaunchType: cmp.Or(t.LaunchType, LaunchTypeEC2),
		Memory: strconv.FormatInt(t.MemoryMiB, 10), Overrides: taskOverrides(t), PullStartedAt: wire.NewTime(t.Times.PullStarted),
		PullStoppedAt: wire.NewTime(t.Times.PullStopped), StartedAt: wire.NewTime(t.Times.Started), StartedBy: t.StartedBy,
		StopCode: string(t.StopCode), StoppedAt: wire.NewTime(t.Times.Stopped), StoppedReason: t.StoppedReason,
		StoppingAt: wire.NewTime(t.Times.Stopping), Tags: []spec.Tag{}, TaskARN: taskARN,
		TaskDefinitionARN: r.DefinitionARN(t.Definition), Version: t.Version,
	}
	if withTags {
		out.Tags = nonNil(t.Tags)
	}
	if t.HostID != "" {
		r.addHost(&out, t)
	}
	if definition != nil && definition.HasOwnAddress() {
		host, _ := r.host(t.HostID)
		addNetwork(&out, t, host)
	}
	return out
}

// addHost adds the members that come from the host that the task is bound to.
func (r *Renderer) addHost(out *types.Task, t *spec.Task) {
	out.ContainerInstanceARN = r.InstanceARN(t.Cluster, t.HostID)
	host, connected := r.host(t.HostID)
	if t.LastStatus.Rank() > spec.Pending.Rank() {
		out.Connectivity = "DISCONNECTED"
		if connected {
			// Nothing records when the host came back: this is the first report about the task.
			out.Connectivity, out.ConnectivityAt = "CONNECTED", wire.NewTime(t.Times.PullStarted)
		}
	}
	if host == nil {
		return
	}
	out.AvailabilityZone, _ = host.Attribute(spec.AttributeZone)
	if arch, _ := host.Attribute("ecs.cpu-architecture"); arch != "" {
		out.Attributes = append(out.Attributes, spec.Attribute{Name: "ecs.cpu-architecture", Value: arch})
	}
}

// taskAttributes are what ECS has no members for: the task's rank in a gang, its index in an array, and as a retry the first
// task, the number of the attempt and how many of those before failed (the others were preempted); who holds it, since when and why;
// how many GPUs it asks for while it has no host, or which ones will do; the owner of the access key that ran it, unless that was root. definition is its own, nil when there is none any more.
func taskAttributes(t *spec.Task, definition *spec.TaskDefinition) []spec.Attribute {
	all := []spec.Attribute{}
	add := func(name, value string) { all = append(all, spec.Attribute{Name: name, Value: value}) }
	if t.Gang != nil {
		add("pinion.gang", t.Gang.ID)
		add("pinion.rank", strconv.Itoa(t.Gang.Rank))
	}
	if t.ArrayIndex != nil {
		add("pinion.array-index", strconv.Itoa(*t.ArrayIndex))
	}
	if t.RetryOf != "" {
		add("pinion.retry-of", t.RetryOf)
		add("pinion.attempt", strconv.Itoa(t.Attempt))
		add("pinion.failed", strconv.Itoa(t.Failed))
	}
	if t.HostID == "" && t.LastStatus != spec.Stopped && definition != nil {
		demand := spec.DemandOf(spec.Effective(definition, t.Overrides.Get()))
		add("pinion.gpus", askedGPUs(&demand))
		if at := slices.IndexFunc(t.Tags, func(tag spec.Tag) bool { return tag.Key == spec.TagGPUAlternatives }); at >= 0 {
			add(spec.TagGPUAlternatives, t.Tags[at].Value)
		}
		if mib := demand.ShareMiB(); mib > 0 {
			add("pinion.gpu-memory", strconv.FormatInt(mib, 10))
		}
	}
	if t.Owner != nil {
		add("pinion.key", t.Owner.Key)
	}
	if since := t.GPUTotals().IdleSince; !since.IsZero() && t.LastStatus == spec.Running {
		add("pinion.idle-since", since.UTC().Format(time.RFC3339))
	}
	if t.Held() {
		add("pinion.held-by", iam.PrincipalName(t.Hold.By))
		add("pinion.held-since", t.Hold.At.UTC().Format(time.RFC3339))
		if t.Hold.Reason != "" {
			add("pinion.held-reason", t.Hold.Reason)
		}
	}
	return all
}

// askedGPUs is the number of GPUs that a task asks for: a number, or "all" of its host.
func askedGPUs(demand *spec.Demand) string {
	if demand.WantsAllGPUs() {
		return "all"
	}
	return strconv.Itoa(demand.TotalGPUs())
}

func taskOverrides(t *spec.Task) types.TaskOverrides {
	overrides := t.Overrides.Get()
	out := types.TaskOverrides{
		Containers: make([]spec.ContainerOverride, 0, len(t.Containers)), CPU: overrides.CPU, Memory: overrides.Memory,
		TaskRoleARN: overrides.TaskRoleARN, ExecutionRoleARN: overrides.ExecutionRoleARN, InferenceAcceleratorOverrides: []struct{}{},
	}
	for _, running := range t.Containers {
		override := spec.ContainerOverride{Name: running.Name}
		given := slices.IndexFunc(overrides.Containers, func(o spec.ContainerOverride) bool { return o.Name == running.Name })
		if given >= 0 {
			override = overrides.Containers[given]
		}
		out.Containers = append(out.Containers, override)
	}
	return out
}
