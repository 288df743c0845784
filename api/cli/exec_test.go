package cli

import (
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

func TestExecWaitsForATaskThatStarts(t *testing.T) {
	for name, c := range map[string]struct {
		states []string
		asked  int // for a command in the task
		code   int
	}{
		"until it runs":                  {[]string{pending, pending, pending, running}, 1, exit.Failure},
		"until it has stopped":           {[]string{pending, pending, exitedTask(1)}, 0, exit.NotStarted},
		"not for one that runs":          {[]string{running}, 1, exit.Failure},
		"not for one that had stopped":   {[]string{exitedTask(1)}, 1, exit.Failure},
		"not for one that waits for GPU": {[]string{taskDocument(taskOne, `run-cuda:4","lastStatus":"PROVISIONING"`)}, 1, exit.Failure},
	} {
		t.Run(name, func(t *testing.T) {
			h := newRunHost(t, c.states...)
			opened := "tasks/" + taskOne + "/exec"
			h.operations[opened] = always(errorReply{400, "InvalidParameterException", "the test runs no command"})
			got := pinion(t, h, "exec", taskOne, "--", "true")
			if got.code != c.code || h.callCount(opened) != c.asked {
				t.Errorf("exit code %d after %d requests: %s", got.code, h.callCount(opened), got.err)
			}
			if waits := strings.Contains(got.err, "is starting"); waits != (len(c.states) > 1) {
				t.Errorf("standard error: %s", got.err)
			}
		})
	}
}
