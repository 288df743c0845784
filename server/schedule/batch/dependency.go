package batch

import (
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// Outcome is how work ended, to those who wait for it.
type Outcome int

// Outcomes.
const (
	Open    Outcome = iota // it goes on, waits, or will be done again
	Success                // every essential container has exited with 0
	Failure                // it is over, and not like that
)

// OutcomeOf is that of a task's work, which is what the last attempt at it comes to. A gang is one piece of work.
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

// DependencyState says whether one thing that a task waits for has come true, or why it never can. Where that is a group, it costs
// a look at every task of the cluster. A task that is not known ended too long ago: nobody knows how.
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

// Satisfies is Verdict on one of the tasks that a names.
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

// WorkID names the work of a task: the first task that did it, which is of rank 0 when it is a gang's. Every attempt at it,
// and every task of the gang, has the same.
func WorkID(v *raftfsm.View, t *spec.Task) string {
	first := gangOrTask(v, t)[0]
	if first.RetryOf != "" {
		return first.RetryOf
	}
	return first.ID
}
