package batch

import (
	"fmt"
	"strings"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// GangStops lists the tasks of a gang that have to stop because one of them failed or was stopped, and why. A task that
// the pool stopped for another of the gang is no reason; without such another, as at a time limit, it is.
func GangStops(v *raftfsm.View, gang string) (tasks []*spec.Task, reason string) {
	all := v.Gang(gang)
	first := firstFailure(v, all)
	if first == nil {
		first = firstStopped(all)
	}
	if first == nil {
		return nil, ""
	}
	for _, t := range all {
		if t.DesiredStatus != spec.Stopped {
			tasks = append(tasks, t)
		}
	}
	return tasks, fmt.Sprintf("Rank %d of the gang (task %s) ended, and all end with it: %s", first.Gang.Rank, first.ID, EndReason(v, first))
}

// firstStopped is the task of a gang that the pool stopped first; nil when there is none.
func firstStopped(tasks []*spec.Task) *spec.Task {
	var first *spec.Task
	for _, t := range tasks {
		if t.StopCode == spec.StopScheduler && (first == nil || endTime(t).Before(endTime(first))) {
			first = t
		}
	}
	return first
}

// EndReason describes in words how an unsuccessful task ended.
func EndReason(v *raftfsm.View, t *spec.Task) string {
	why := t.StoppedReason
	if why == "" {
		why = string(t.StopCode)
	}
	codes, _ := exitCodes(v, t)
	var failed []string
	for _, code := range codes {
		if code != 0 {
			failed = append(failed, fmt.Sprint(code))
		}
	}
	if len(failed) > 0 {
		why += " (exit code " + strings.Join(failed, ", ") + ")"
	}
	return why
}
