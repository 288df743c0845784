package batch

import (
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Outcome is the result of a task, or of a gang, as its dependents see it: the result of the last attempt.
type Outcome int

// Outcomes.
const (
	Open    Outcome = iota // running, pending, or to be retried
	Success                // every essential container exited with 0
	Failure                // ended without success
)

// OutcomeOf returns the outcome of a task's last attempt; a gang has one outcome.
func OutcomeOf(v *raftfsm.View, t *spec.Task) Outcome {
	tasks := gangOrTask(v, LatestAttempt(v, t))
	if !allStopped(tasks) {
		return Open
	}
	if again, _ := shouldRetry(v, tasks); again {
		return Open
	}
	if slices.ContainsFunc(tasks, func(t *spec.Task) bool { return !Succeeded(v, t) }) {
		return Failure
	}
	return Success
}

// DependencyState reports whether a dependency of a pending task is met, or why it never can be. A dependency on a group scans
// every task of the cluster. A task that is not in the state any more ended too long ago to know its outcome.
func DependencyState(v *raftfsm.View, waiting *spec.Task, a spec.TaskDependency) (met bool, never string) {
	switch {
	case a.Group == "":
		if t := v.Task(a.Task); t != nil {
			return Satisfies(v, a, t)
		}
		return a.Any, unknown(a)
	case a.Group == waiting.Group:
		return false, "it is one of the tasks of that group"
	}
	met = true
	for t := range v.TasksAfter(waiting.Cluster, "") {
		if t.Group != a.Group {
			continue
		}
		is, why := Satisfies(v, a, t)
		if why != "" {
			return false, why
		}
		met = met && is
	}
	return met, ""
}

// Satisfies is DependencyState for one of the tasks that the dependency names.
func Satisfies(v *raftfsm.View, a spec.TaskDependency, t *spec.Task) (met bool, never string) {
	switch o := OutcomeOf(v, t); {
	case o == Open:
		return false, ""
	case a.Any || o == Success:
		return true, ""
	}
	last := LatestAttempt(v, t)
	return false, fmt.Sprintf("task %s failed: %s", last.ID, EndReason(v, last))
}

func unknown(a spec.TaskDependency) (never string) {
	if a.Any {
		return ""
	}
	return "the pool does not know a task " + a.Task + " any more"
}

// WorkID identifies a task across its attempts: the id of the first attempt, of rank 0 in a gang. All attempts and all members
// of the gang have the same one.
func WorkID(v *raftfsm.View, t *spec.Task) string {
	first := gangOrTask(v, t)[0]
	if first.RetryOf != "" {
		return first.RetryOf
	}
	return first.ID
}
