package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// withinRights takes out of the reports of a host what is the pool's to say: who stopped a task, and that its host was lost. A service replaces such a
// task at once, however often. The reports are the caller's own. host is as the pool knows it, nil when it does not.
func withinRights(host *spec.Host, known func(task string) *spec.Task, reports []spec.TaskReport, now time.Time) {
	for i := range reports {
		r := &reports[i]
		task := known(r.TaskID)
		if task == nil {
			continue
		}
		if lostGPU := strings.HasPrefix(r.StoppedReason, spec.GPUFault) && hasSickGPU(host, task) && !isYoungOfService(task, now); !mayStop(task, r.StopCode, now) && !(lostGPU && r.StopCode == spec.StopScheduler) {
			r.StopCode = ""
		}
		if r.Status == spec.Stopped && task.StopCode == "" && saysNothing(task, r) {
			r.Times.ExecutionStopped = cmp.Or(r.Times.ExecutionStopped, task.Times.ExecutionStopped, now)
		}
	}
}

// youngFor is less than a GPU takes to get well again: the driver's record may be 30 s late, and no check comes before.
const youngFor = 30 * time.Second

// isYoungOfService reports whether a service has started the task lately. A host could say again and again that its GPU is lost, and well; what its
// service replaces then counts as failed, with the pauses that follow from that.
func isYoungOfService(task *spec.Task, now time.Time) bool {
	return task.Service != nil && now.Sub(task.CreatedAt) < youngFor
}

// hasSickGPU reports whether the pool knows that a GPU of the task is sick, which then gets no other task: of one that gets them at once the host has
// no say why they end.
func hasSickGPU(host *spec.Host, task *spec.Task) bool {
	if host == nil {
		return false
	}
	return slices.ContainsFunc(task.GPUs(), func(uuid string) bool {
		device, has := host.GPUs.Device(uuid)
		return !has || device.Health != gpu.Healthy
	})
}

// mayStop reports whether a host stops a task of its own accord with that code.
func mayStop(task *spec.Task, code spec.StopCode, now time.Time) bool {
	switch code {
	case "", spec.StopFailedToStart, spec.StopEssentialExited:
		return true
	case spec.StopPreempted: // its GPUs do nothing; its successor has as long, so a host does not have it queue again and again. Clocks may differ by half
		options := task.SchedulingOptions()
		return options.IdleRequeue && options.IdleTimeout > 0 && task.Service == nil && !now.Before(task.CreatedAt.Add(options.IdleTimeout/2))
	case spec.StopScheduler: // its time limit, or its GPUs do nothing; nothing follows from that but in a service
		options := task.SchedulingOptions()
		limit := options.TimeLimit
		return options.IdleTimeout > 0 && task.Service == nil || limit > 0 && (task.Service == nil || !now.Before(task.CreatedAt.Add(limit)))
	}
	return false
}

// saysNothing reports whether nobody knows how the containers of a task ended, as when its host was lost.
func saysNothing(task *spec.Task, r *spec.TaskReport) bool {
	for i := range task.Containers {
		if c := &task.Containers[i]; c.ExitCode != nil || c.Reason != "" {
			return false
		}
	}
	for i := range r.Containers {
		if c := &r.Containers[i]; c.ExitCode != nil || c.Reason != "" {
			return false
		}
	}
	return true
}
