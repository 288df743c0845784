package schedule

import (
	"slices"

	"pinion/raftfsm/spec"
)

// withPlacement returns a copy of a pending task with its planned host and with the GPUs of each container.
func withPlacement(waiting *spec.Task, hostID string, given *gpuGrant) *spec.Task {
	task := *waiting
	task.HostID, task.LastStatus = hostID, spec.Pending
	task.Containers = slices.Clone(waiting.Containers)
	for i := range task.Containers {
		task.Containers[i].LastStatus = spec.Pending
		given.into(&task.Containers[i], i)
	}
	return &task
}

// PlacementOf copies the placement of a planned task to the pending task that it was planned for. Both must have the same
// definition and overrides, and the same rank when they are gang members.
func PlacementOf(waiting, planned *spec.Task) spec.Placement {
	p := spec.Placement{TaskID: waiting.ID, HostID: planned.HostID, OverrideGPUs: len(waiting.SchedulingOptions().GPUAlternatives) > 0}
	for i := range planned.Containers {
		if gpus := planned.Containers[i].GPUs; len(gpus) > 0 {
			p.GPUs = append(p.GPUs, make([][]string, i+1-len(p.GPUs))...)
			p.GPUs[i] = gpus
		}
		if share := planned.Containers[i].Share; share != nil {
			p.Shares = append(p.Shares, make([]spec.GPUShare, i+1-len(p.Shares))...)
			p.Shares[i] = *share
		}
	}
	for i := range planned.Containers {
		if milli := planned.Containers[i].MIGMilli; milli > 0 {
			p.MIGMilli = append(p.MIGMilli, make([]int, i+1-len(p.MIGMilli))...)
			p.MIGMilli[i] = milli
		}
	}
	for _, port := range planned.Ports {
		if !slices.Contains(waiting.Ports, port) {
			p.Ports = append(p.Ports, port)
		}
	}
	if planned.Gang != nil {
		p.GangPort = planned.Gang.Port
	}
	return p
}
