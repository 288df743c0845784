package batch

import (
	"fmt"
	"strings"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// GangStops lists the tasks of a gang that have to stop because one of them failed or was stopped, and why.
func GangStops(v *raftfsm.View, gang string) (tasks []*spec.Task, reason string) {
	all := v.Gang(gang)
	first := firstFailure(v, all)
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
