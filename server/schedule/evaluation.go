package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"

	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/isolation"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/pack"
)

// evaluation is a request with everything about it that is computed once for all hosts.
type evaluation struct {
	Request
	demand          spec.Demand            // see demandOn
	attributes      []spec.Attribute       // required of a host
	isolation       isolation.Requirements // what it asks for that reaches past its containers
	group           string                 // task group
	wantsGPUs       bool
	wantsAllGPUs    bool
	fragmentation   *pack.FragmentationScorer // from the cluster's workload profile
	options         spec.SchedulingOptions
	placed          int          // number of tasks so far
	run             string       // see spec.Task.Run; empty before the first task
	common          *spec.Task   // what record copies; nil before the first of several tasks
	fingerprintText string       // see fingerprint; empty before its first use
	images          wantedImages // those which decide among hosts: see clusterHosts.locateImages

	// Set by parse from the constraints and the strategy; StartTask has neither.
	constraints    []*query.Expr
	gpuConstraints gpuConstraints
	distinct       bool
	strategy       []scorer
}

func newEvaluation(r Request) *evaluation {
	a := &evaluation{Request: r, demand: spec.DemandOf(r.Definition)}
	a.wantsGPUs = len(a.demand.Shares) > 0 || slices.ContainsFunc(a.demand.GPUs, func(n int) bool { return n != 0 })
	a.wantsAllGPUs = a.demand.WantsAllGPUs()
	a.gpuConstraints.wholeOnly = a.wantsGPUs && !AsksForMIG(r)
	a.group = cmp.Or(r.Run.Group, "family:"+r.Definition.Family)
	a.attributes = slices.Concat(r.Definition.RequiredAttributes(), platform(r.Definition))
	a.isolation = isolation.RequirementsOf(r.Definition).Under(r.Rules)
	a.options, _ = spec.ParseSchedulingOptions(r.Run.Tags) // validated by the api
	return a
}

// demandOn returns the demand of one task on this host. Nobody writes to it: it is mostly the same for all hosts.
func (a *evaluation) demandOn(h *Host) *spec.Demand {
	if !a.wantsAllGPUs {
		return &a.demand
	}
	all := gpu.WholeGPUs(h.Host.GPUs.Devices)
	if !a.gpuConstraints.wholeOnly {
		all = len(a.gpuConstraints.eligible(h))
	}
	d := a.demand.ForHost(all)
	return &d
}

// place returns a task for a host that fits, with GPUs chosen container by container. It returns nil when the host has
// enough free GPUs but not in a combination that the containers can get.
func (a *evaluation) place(h *Host) *spec.Task {
	only := a.gpuConstraints.restrict(h)
	free := only.idle
	given := &gpuGrant{gpus: make([][]string, len(a.demand.GPUs))}
	for i, wanted := range a.demandOn(h).GPUs {
		if wanted == 0 {
			continue
		}
		picked := h.gpus.Pick(free, wanted)
		if picked.Len() != wanted {
			return nil
		}
		free &^= picked
		given.addWhole(h, i, picked)
	}
	if len(a.demand.Shares) > 0 && !given.addShares(only, a.Definition.Containers, a.demand.ShareMiB()) {
		return nil
	}
	if len(a.Waiting) > 0 {
		a.placed++
		task := withPlacement(a.Waiting[a.placed-1], h.Host.ID, given)
		if a.gpuModel != "" {
			at := a.Definition.GPUContainer()
			task.Overrides = spec.Box(task.Overrides.Get().WithGPUs(task.Containers[at].Name, a.demand.GPUs[at]))
		}
		return task
	}
	return a.task(h.Host.ID, given, spec.Pending)
}

// refuseSplitGPUs is the refusal of a host for which place returned nil.
func refuseSplitGPUs(h *Host) spec.Failure {
	return spec.Failure{HostID: h.Host.ID, Reason: spec.ReasonGPU,
		Detail: "enough GPUs are free, but not ones that one container can have together"}
}

// task returns the complete record of the next task: with its place, or with none while it waits for one.
func (a *evaluation) task(hostID string, given *gpuGrant, status spec.Status) *spec.Task {
	task := a.record()
	task.ID, task.HostID, task.LastStatus, task.ArrayIndex = a.IDs(), hostID, status, a.arrayIndex()
	if sizeOf(a.Run) > 1 && a.Definition.ResolvesOnce() {
		a.run = cmp.Or(a.run, task.ID)
		task.Run = a.run
	}
	task.Containers = make([]spec.Container, len(a.Definition.Containers))
	a.placed++
	for i := range task.Containers {
		container := &a.Definition.Containers[i]
		task.Containers[i] = newContainer(a.IDs(), container.Name, container.Image, status)
		given.into(&task.Containers[i], i)
	}
	return task
}

// sizeOf is the number of tasks of a request.
func sizeOf(r spec.RunRequest) int { return max(r.Count, len(r.Hosts)) }

// record returns a new record with the fields that all tasks of the request share. They are computed once.
func (a *evaluation) record() *spec.Task {
	if a.common != nil {
		task := *a.common
		return &task
	}
	task := newTask(a.Run.Cluster, &a.demand, spec.Pending, a.At)
	task.Definition, task.Overrides, task.Group = a.Definition.Name(), spec.Box(a.overrides()), a.group
	task.StartedBy, task.LaunchType, task.Tags = a.Run.StartedBy, cmp.Or(a.Run.LaunchType, "EC2"), a.Run.Tags
	task.ByAdmin, task.Owner, task.Exec = a.Run.ByAdmin, ownerOf(a.Run, a.demand, a.SharedMiB), a.Run.Exec
	task.Queue = a.pendingSpec()
	if sizeOf(a.Run) > 1 {
		common := *task
		a.common = &common
	}
	return task
}

// ownerOf is the access key of the call, with the GPUs that a task counts for while it waits.
func ownerOf(r spec.RunRequest, demand spec.Demand, sharedMiB int64) *spec.TaskOwner {
	switch {
	case r.Key == "":
		return nil
	case demand.WantsAllGPUs():
		return &spec.TaskOwner{Key: r.Key, GPUs: spec.AllHostGPUs}
	}
	owner := &spec.TaskOwner{Key: r.Key, GPUs: MostGPUs(r.Tags, demand)}
	if share := demand.ShareMiB(); share > 0 {
		owner.GPUMilli = gpuuse.MilliOf(share, sharedMiB)
	}
	return owner
}

// overrides returns the overrides with an entry for every container, also for unchanged ones, as ECS does.
func (a *evaluation) overrides() spec.TaskOverride {
	asked := a.Run.Overrides
	all := asked
	all.Containers = nil
	for _, container := range a.Definition.Containers {
		at := slices.IndexFunc(asked.Containers, func(o spec.ContainerOverride) bool { return o.Name == container.Name })
		if at < 0 {
			all.Containers = append(all.Containers, spec.ContainerOverride{Name: container.Name})
		} else {
			all.Containers = append(all.Containers, asked.Containers[at])
		}
	}
	return all
}

// uuid formats 32 hex digits as a UUID.
func uuid(id string) string {
	if len(id) != 32 {
		return id
	}
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}
