// Package batch decides the consequences of the end of a task: whether its gang stops, whether and when it is retried, and
// whether its dependents may start. It is pure: everything is derived from a view of the state.
package batch

import (
	"cmp"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Succeeded reports whether the task ended by itself with exit code 0 in every essential container. A task that was asked to
// stop has not succeeded, even with exit code 0.
func Succeeded(v *raftfsm.View, t *spec.Task) bool {
	if t.LastStatus != spec.Stopped || wasStopped(t) {
		return false
	}
	codes, unknown := exitCodes(v, t)
	return !unknown && !slices.ContainsFunc(codes, isFailure)
}

// wasStopped reports whether a user, the scheduler, a preemption or an error of its GPU stopped the task.
func wasStopped(t *spec.Task) bool {
	return t.GPUFailed() || t.StopCode == spec.StopUserInitiated || t.StopCode == spec.StopScheduler || t.StopCode == spec.StopPreempted
}

func isFailure(code int) bool { return code != 0 }

// exitCodes returns the exit codes of the task's essential containers; unknown: at least one of them has none.
func exitCodes(v *raftfsm.View, t *spec.Task) (codes []int, unknown bool) {
	d := v.Definition(t.Definition)
	for i := range t.Containers {
		switch c := &t.Containers[i]; {
		case isNonEssential(d, c.Name):
		case c.ExitCode == nil:
			unknown = true
		default:
			codes = append(codes, *c.ExitCode)
		}
	}
	return codes, unknown
}

func isNonEssential(d *spec.TaskDefinition, container string) bool {
	return d != nil && slices.ContainsFunc(d.Containers, func(c spec.ContainerDefinition) bool {
		return c.Name == container && !c.IsEssential()
	})
}

// hasFailed reports whether the task has failed, or is stopping and certain to fail.
func hasFailed(v *raftfsm.View, t *spec.Task) bool {
	switch {
	case t.DesiredStatus != spec.Stopped:
		return false
	case t.LastStatus == spec.Stopped:
		return !Succeeded(v, t)
	case t.StopCode != spec.StopEssentialExited && t.StopCode != "":
		return true // it was stopped, or failed to start
	}
	codes, _ := exitCodes(v, t)
	return slices.ContainsFunc(codes, isFailure)
}

// firstFailure returns the first task of a gang, or of a single task, that failed or was stopped, leaving out tasks that the
// scheduler stopped for anything but an error of their GPU; nil when there is none.
func firstFailure(v *raftfsm.View, tasks []*spec.Task) *spec.Task {
	var failed *spec.Task
	for _, t := range tasks {
		if t.StopCode == spec.StopScheduler && !t.GPUFailed() || !hasFailed(v, t) {
			continue
		}
		if failed == nil || endTime(t).Before(endTime(failed)) {
			failed = t
		}
	}
	return failed
}

func endTime(t *spec.Task) time.Time {
	return cmp.Or(t.Times.ExecutionStopped, t.Times.Stopping, t.Times.Stopped)
}

// gangOrTask returns the unit of a retry: all tasks of the gang, or the task alone.
func gangOrTask(v *raftfsm.View, t *spec.Task) []*spec.Task {
	if t.Gang == nil {
		return []*spec.Task{t}
	}
	return v.Gang(t.Gang.ID)
}

func allStopped(tasks []*spec.Task) bool {
	return !slices.ContainsFunc(tasks, func(t *spec.Task) bool { return t.LastStatus != spec.Stopped })
}
