package dispatch

import (
	"cmp"
	"time"

	"pinion/raftfsm/spec"
)

// withinRights takes out of the reports of a host what is the pool's to say: who stopped a task, and that its host was lost. A service replaces such a
// task at once, however often. The reports are the caller's own.
func withinRights(known func(task string) *spec.Task, reports []spec.TaskReport, now time.Time) {
	for i := range reports {
		r := &reports[i]
		task := known(r.TaskID)
		if task == nil {
			continue
		}
		if !mayStop(task, r.StopCode, now) {
			r.StopCode = ""
		}
		if r.Status == spec.Stopped && task.StopCode == "" && saysNothing(task, r) {
			r.Times.ExecutionStopped = cmp.Or(r.Times.ExecutionStopped, task.Times.ExecutionStopped, now)
		}
	}
}

// mayStop reports whether a host stops a task of its own accord with that code.
func mayStop(task *spec.Task, code spec.StopCode, now time.Time) bool {
	switch code {
	case "", spec.StopFailedToStart, spec.StopEssentialExited:
		return true
	case spec.StopScheduler: // its time limit; nothing follows from that but in a service
		limit := task.SchedulingOptions().TimeLimit
		return limit > 0 && (task.Service == nil || !now.Before(task.CreatedAt.Add(limit)))
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
