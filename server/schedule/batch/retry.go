package batch

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// Pauses before a task that failed is tried again: the first, twice as long each time, up to the longest.
const (
	MinBackoff = time.Second
	MaxBackoff = 5 * time.Minute
)

// Retry is what has to be recorded so that the work of a task that is over is done again, its whole gang's if it is of one:
// successors that wait in its queue. Nil when it is not to be done again, not yet, or when it is recorded already. ids
// gives 32 hex digits at each call.
func Retry(v *raftfsm.View, t *spec.Task, now time.Time, ids func() string) []*spec.Task {
	if t.Gang == nil && t.StopCode != spec.StopPreempted && t.SchedulingOptions().Retries <= t.Failed {
		return nil // most tasks, at little cost
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
		notBefore = now.Add(backoff(t.Failed))
	}
	var successors []*spec.Task
	for _, was := range tasks {
		successor := schedule.RetryTask(was, ids, gang, now, notBefore)
		if failed {
			successor.Failed++
		}
		successors = append(successors, successor)
	}
	return successors
}

// backoff is how long a task waits that failed so often before.
func backoff(failed int) time.Duration {
	if failed > 8 {
		return MaxBackoff
	}
	return min(MinBackoff<<failed, MaxBackoff)
}

// shouldRetry says whether the work of these tasks, which are a unit, is done again, and whether it had failed: who only gave
// way has not.
func shouldRetry(v *raftfsm.View, tasks []*spec.Task) (again, failed bool) {
	first := firstFailure(v, tasks)
	if first == nil || !allStopped(tasks) || first.Gang != nil && len(tasks) != first.Gang.Size {
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
	terms := first.SchedulingOptions()
	return first.Failed < terms.Retries && isRetryable(v, first, terms), true
}

// isRetryable says whether trying again could help a task that failed. A task that ran and left no exit code lost its host,
// which says nothing against it.
func isRetryable(v *raftfsm.View, t *spec.Task, terms spec.SchedulingOptions) bool {
	codes, _ := exitCodes(v, t)
	if len(terms.RetryOn) == 0 || len(codes) == 0 && !t.Times.Started.IsZero() {
		return true
	}
	return slices.ContainsFunc(codes, func(code int) bool { return slices.Contains(terms.RetryOn, code) })
}

// isSuperseded reports whether a later attempt at the task's work is on record.
func isSuperseded(v *raftfsm.View, t *spec.Task) bool { return LatestAttempt(v, t).Attempt > t.Attempt }

// LatestAttempt is the last attempt on record at the work of a task, the task itself when there is none.
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
