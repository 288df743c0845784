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
	FirstPause   = time.Second
	LongestPause = 5 * time.Minute
)

// Again is what has to be recorded so that the work of a task that is over is done again, its whole gang's if it is of one:
// successors that wait in its queue. Nil when it is not to be done again, not yet, or when it is recorded already. ids
// gives 32 hex digits at each call.
func Again(v *raftfsm.View, t *spec.Task, now time.Time, ids func() string) []*spec.Task {
	if t.Gang == nil && t.StopCode != spec.StopPreempted && t.Terms().Retries <= t.Failed {
		return nil // most tasks, at little cost
	}
	tasks := unit(v, t)
	again, failed := repeats(v, tasks)
	if !again || superseded(v, t) {
		return nil
	}
	gang, notBefore := "", time.Time{}
	if t.Gang != nil {
		gang = ids()
	}
	if failed {
		notBefore = now.Add(pause(t.Failed))
	}
	var successors []*spec.Task
	for _, was := range tasks {
		successor := schedule.Again(was, ids, gang, now, notBefore)
		if failed {
			successor.Failed++
		}
		successors = append(successors, successor)
	}
	return successors
}

// pause is how long a task waits that failed so often before.
func pause(failed int) time.Duration {
	if failed > 8 {
		return LongestPause
	}
	return min(FirstPause<<failed, LongestPause)
}

// repeats says whether the work of these tasks, which are a unit, is done again, and whether it had failed: who only gave
// way has not.
func repeats(v *raftfsm.View, tasks []*spec.Task) (again, failed bool) {
	first := origin(v, tasks)
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
	terms := first.Terms()
	return first.Failed < terms.Retries && worthwhile(v, first, terms), true
}

// worthwhile says whether trying again could help a task that failed. A task that ran and left no exit code lost its host,
// which says nothing against it.
func worthwhile(v *raftfsm.View, t *spec.Task, terms spec.Terms) bool {
	codes, _ := exits(v, t)
	if len(terms.RetryOn) == 0 || len(codes) == 0 && !t.Times.Started.IsZero() {
		return true
	}
	return slices.ContainsFunc(codes, func(code int) bool { return slices.Contains(terms.RetryOn, code) })
}

// superseded reports whether a later attempt at the task's work is on record.
func superseded(v *raftfsm.View, t *spec.Task) bool { return Latest(v, t).Attempt > t.Attempt }

// Latest is the last attempt on record at the work of a task, the task itself when there is none.
func Latest(v *raftfsm.View, t *spec.Task) *spec.Task {
	first := t.ID
	if t.RetryOf != "" {
		first = t.RetryOf
	}
	if attempts := v.Attempts(first); len(attempts) > 0 {
		return attempts[len(attempts)-1]
	}
	return t
}
