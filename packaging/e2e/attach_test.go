package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// Who attaches sees what comes, and nothing of before. Each way to detach leaves the task running, and the end of the task is that of who is attached.
func TestATaskIsAttachedToAndDetachedFrom(t *testing.T) {
	h := sharedHost(t)
	h.registerShell(t, "attached", 0, `echo of before; trap "exit 6" TERM; while sleep 0.1; do echo tick; done`)
	id := lastPart(h.mustCall(t, "RunTask", object{"taskDefinition": "attached"}).text("tasks", 0, "taskArn"))
	t.Cleanup(func() { h.tryPinion("stop", "--force", id) })
	h.waitStatus(t, id, "RUNNING")
	eventually(t, "it ticks", func() bool { return strings.Contains(h.pinion(t, "logs", id), "tick") })
	attach := func() *terminal {
		s := onTerminal(t, exec.Command(binary, "--data-dir", h.dir, "attach", id), 80, 24)
		s.shows("tick\r\ntick\r\n")
		return s
	}
	for name, keys := range map[string]string{"Ctrl-C": "\x03", "Ctrl-P Ctrl-Q": "\x10\x11"} {
		s := attach()
		fmt.Fprint(s.file, "ignored\r"+keys)
		if err := s.command.Wait(); err != nil || strings.Contains(s.screen.String(), "of before") {
			t.Errorf("%s: %v:\n%s", name, err, s.screen)
		}
		s.shows("runs on")
		h.waitStatus(t, id, "RUNNING")
	}
	s := attach()
	h.pinion(t, "stop", id)
	if s.command.Wait(); s.command.ProcessState.ExitCode() != 6 {
		t.Errorf("it ends with %v:\n%s", s.command.ProcessState, s.screen)
	}
}
