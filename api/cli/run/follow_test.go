package run

import (
	"io"
	"testing"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
	"pinion/api/client"
)

func TestWhoWasStoppedByThePoolHasNotSucceeded(t *testing.T) {
	zero := 0
	over := func(code *int, stopCode string) client.Task {
		return client.Task{StopCode: stopCode, StoppedReason: "why", Containers: []client.Container{{ExitCode: code}}}
	}
	for name, c := range map[string]struct {
		task client.Task
		want int
	}{
		"it ended well":                   {over(&zero, "EssentialContainerExited"), 0},
		"its time was over":               {over(&zero, "ServiceSchedulerInitiated"), exit.Failure},
		"it was stopped before it began":  {over(nil, "UserInitiated"), exit.Interrupted},
		"it never came to start, it says": {over(nil, "TaskFailedToStart"), exit.NotStarted},
	} {
		f := &follower{inv: &invocation.Invocation{Err: io.Discard}}
		for _, err := range []error{f.taskExitError(c.task), f.batchExitError([]client.Task{c.task})} {
			if got := exit.Report(io.Discard, err); got != c.want {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
