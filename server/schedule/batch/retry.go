package batch

import (
	"slices"
	"time"

	"pinion/packaging/backoff"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// Backoff before a failed task is retried: it starts at MinBackoff and doubles with each failure up to MaxBackoff.
const (
	MinBackoff = time.Second
	MaxBackoff = 5 * time.Minute
)

// delays are the pauses before a task is retried, by its number of failures.
var delays = backoff.Backoff{Min: MinBackoff, Max: MaxBackoff}

// Retry returns the pending tasks that have to be recorded to retry an ended task, or its whole gang. Nil: there is no retry,
// the gang has not ended yet, or the retry is already recorded. ids returns 32 new hex digits at each call.
func Retry(v *raftfsm.View, t *spec.Task, now time.Time, ids func() string) []*spec.Task {
	if t.Service != nil || t.Gang == nil && t.StopCode != spec.StopPreempted && t.SchedulingOptions().Retries <= t.Failed {
		return nil // fast path: most tasks
	}
	tasks := gangOrTask(v, t)
	again, failed := shouldRetry(v, tasks)
	if !again || isSuperseded(v, t) {
		return nil
	}
	gang, notBefore := "", time.Time{}
	if t.Gang != nil {
		gang = ids()
	}
	if failed {
		notBefore = now.Add(delays.After(t.Failed))
	}
	var successors []*spec.Task
	for _, was := range tasks {
		successor := schedule.RetryTask(was, ids, gang, now, notBefore)
		successor.TakeDigests(was, v.Definition(was.Definition))
		if failed {
			successor.Failed++
		}
		successors = append(successors, successor)
	}
	return successors
}

// shouldRetry reports whether a task or gang is retried, and whether it failed; preemption is not a failure. A task of a service never is: its
// service replaces it.
func shouldRetry(v *raftfsm.View, tasks []*spec.Task) (again, failed bool) {
	first := firstFailure(v, tasks)
	if first == nil || first.Service != nil || !allStopped(tasks) || first.Gang != nil && len(tasks) != first.Gang.Size {
		return false, false
	}
	preempted := func(t *spec.Task) bool { return t.StopCode == spec.StopPreempted }
	stopped := func(t *spec.Task) bool { return t.StopCode == spec.StopUserInitiated }
	switch {
	case slices.ContainsFunc(tasks, stopped):
		return false, false
	case slices.ContainsFunc(tasks, preempted):
		return true, false
	}
	options := first.SchedulingOptions()
	return first.Failed < options.Retries && isRetryable(v, first, options), true
}

// isRetryable reports whether the retry rules allow another attempt of a failed task. A task that ran and left no exit code
// lost its host, which is not the task's fault, and neither is an error of its GPU.
func isRetryable(v *raftfsm.View, t *spec.Task, options spec.SchedulingOptions) bool {
	codes, _ := exitCodes(v, t)
	if t.GPUFailed() || len(options.RetryOn) == 0 || len(codes) == 0 && !t.Times.Started.IsZero() {
		return true
	}
	return slices.ContainsFunc(codes, func(code int) bool { return slices.Contains(options.RetryOn, code) })
}

// isSuperseded reports whether a later attempt of the task is recorded.
func isSuperseded(v *raftfsm.View, t *spec.Task) bool { return LatestAttempt(v, t).Attempt > t.Attempt }

// LatestAttempt returns the last recorded attempt of a task; the task itself when there is no other.
func LatestAttempt(v *raftfsm.View, t *spec.Task) *spec.Task {
	first := t.ID
	if t.RetryOf != "" {
		first = t.RetryOf
	}
	if attempts := v.Attempts(first); len(attempts) > 0 {
		return attempts[len(attempts)-1]
	}
	return t
}
