package history

import (
	"testing"
	"time"

	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// Who asks what failed yesterday asks for the tasks that their time limits ended, too.
func TestATaskThatThePoolStoppedForItsFailureHasFailed(t *testing.T) {
	for _, c := range []struct {
		code   spec.StopCode
		reason string
		want   ended.Outcome
	}{
		{spec.StopScheduler, spec.TimeLimitReason(2 * time.Hour), ended.Failed},
		{spec.StopScheduler, "It waited for group:nightly: task 3f2a91c0 failed (exit code 5)", ended.Failed},
		{spec.StopScheduler, "Host gpu-1 is drained", ended.Stopped},
		{spec.StopScheduler, spec.GPUFault + "GPU-a: Xid 79", ended.Failed},
		{spec.StopUserInitiated, spec.GPUFault + "as users may write", ended.Stopped},
		{spec.StopScheduler, "Rank 2 of its gang failed", ended.Stopped},
		{spec.StopPreempted, spec.TimeLimitReason(2 * time.Hour), ended.Stopped},
		{spec.StopUserInitiated, "It waited for me", ended.Stopped},
	} {
		task := &spec.Task{StopCode: c.code, StoppedReason: c.reason, LastStatus: spec.Stopped}
		if got := outcome(nil, task); got != c.want {
			t.Errorf("%s, %q: %s, want %s", c.code, c.reason, got, c.want)
		}
	}
}
