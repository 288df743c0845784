package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/query"
)

// ask is a request with what can be said of it once for all hosts.
type ask struct {
	Request
	demand     raftfsm.Demand      // see on
	attributes []raftfsm.Attribute // that a host has to carry
	escapes    string              // by what the task could reach GPUs of others; empty: by nothing
	group      string              // of the tasks

	// What read makes of the constraints and the strategy; StartTask has neither.
	members  []*query.Expr
	distinct bool
	strategy []scorer
}

func newAsk(r Request) *ask {
	a := &ask{Request: r, demand: raftfsm.DemandOf(r.Definition)}
	a.group = cmp.Or(r.Run.Group, "family:"+r.Definition.Family)
	a.attributes = slices.Concat(r.Definition.Requires(), platform(r.Definition))
	a.escapes = r.Definition.Escapes()
	return a
}

// on is what the task takes of this host.
func (a *ask) on(h *Host) raftfsm.Demand { return a.demand.On(h.Host) }

// place puts one task on the chosen host. It returns nil for a refused choice, which one becomes when the host's GPUs
// cannot be given together although there are enough of them.
func (a *ask) place(chosen *option) *raftfsm.Task {
	if chosen.refusal.Reason != "" {
		return nil
	}
	host := chosen.host
	gpus, ok := a.pick(host)
	if !ok {
		chosen.refusal = raftfsm.Failure{HostID: host.Host.ID, Reason: raftfsm.ReasonGPU,
			Detail: "enough GPUs are free, but not ones that one container can have together"}
		return nil
	}
	task := a.task(host.Host.ID, gpus)
	host.Free.Take(task)
	host.placed = append(host.placed, task)
	return task
}

// pick chooses the GPUs of each container on one host.
func (a *ask) pick(host *Host) (perContainer [][]string, ok bool) {
	free := slices.Clone(host.Free.GPUs)
	for _, wanted := range a.on(host).GPUs {
		picked := gpu.Pick(host.Host.GPUs.Devices, free, wanted)
		if len(picked) != wanted {
			return nil, false
		}
		free = slices.DeleteFunc(free, func(uuid string) bool { return slices.Contains(picked, uuid) })
		perContainer = append(perContainer, picked)
	}
	return perContainer, true
}

// task is the finished record: everything a task ever says about its place is written here.
func (a *ask) task(hostID string, gpus [][]string) *raftfsm.Task {
	task := &raftfsm.Task{
		ID:            a.IDs(),
		Cluster:       a.Run.Cluster,
		Definition:    a.Definition.Name(),
		HostID:        hostID,
		Group:         a.group,
		StartedBy:     a.Run.StartedBy,
		LaunchType:    cmp.Or(a.Run.LaunchType, "EC2"),
		Overrides:     a.overrides(),
		CPU:           a.demand.CPU,
		MemoryMiB:     a.demand.MemoryMiB,
		Ports:         a.demand.Ports,
		UDPPorts:      a.demand.UDPPorts,
		LastStatus:    raftfsm.Pending,
		DesiredStatus: raftfsm.Running,
		Tags:          a.Run.Tags,
		Version:       1,
		CreatedAt:     a.At,
	}
	for i, container := range a.Definition.Containers {
		task.Containers = append(task.Containers, raftfsm.Container{
			ID:         uuid(a.IDs()),
			Name:       container.Name,
			Image:      container.Image,
			GPUs:       gpus[i],
			LastStatus: raftfsm.Pending,
		})
	}
	return task
}

// overrides names every container, as ECS does, also those that nothing changes.
func (a *ask) overrides() raftfsm.TaskOverride {
	asked := a.Run.Overrides
	all := asked
	all.Containers = nil
	for _, container := range a.Definition.Containers {
		at := slices.IndexFunc(asked.Containers, func(o raftfsm.ContainerOverride) bool { return o.Name == container.Name })
		if at < 0 {
			all.Containers = append(all.Containers, raftfsm.ContainerOverride{Name: container.Name})
		} else {
			all.Containers = append(all.Containers, asked.Containers[at])
		}
	}
	return all
}

// uuid writes 32 hex digits with the hyphens of a UUID.
func uuid(id string) string {
	if len(id) != 32 {
		return id
	}
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}
