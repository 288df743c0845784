package e2e

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestDownEndsNoTaskUnasked runs `pinion down` beside a task, with pinion up and without.
func TestDownEndsNoTaskUnasked(t *testing.T) {
	h := newHost(t, "--gpus", "none")
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	id := strings.TrimSpace(h.pinion(t, "run", "-d", "pinion/self", "--", "pinion", "pause"))
	h.waitStatus(t, id, "RUNNING")
	for _, line := range []string{"down", "down --purge"} {
		if out, err := exec.Command(binary, append([]string{"--data-dir", h.dir}, strings.Fields(line)...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), id[:12]) {
			t.Fatalf("pinion %s beside a task: %v\n%s", line, err, out)
		}
	}
	h.waitStatus(t, id, "RUNNING") // and the host answers

	h.signalAndWait(t, syscall.SIGTERM)
	if out, err := exec.Command(binary, "--data-dir", h.dir, "down").CombinedOutput(); err == nil {
		t.Fatalf("pinion down beside a task, without pinion up\n%s", out)
	}
	h.start(t)
	h.waitStatus(t, id, "RUNNING")
	if out, err := exec.Command(binary, "--data-dir", h.dir, "down", "--force").CombinedOutput(); err != nil || !strings.Contains(string(out), "ended 1 task") {
		t.Fatalf("pinion down --force: %v\n%s", err, out)
	}
}
