package containerd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestAKilledShimLosesTheExitCodeAndNothingElse(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("echo up; exec sleep 1000"))
	h.awaitLine(c, "up")
	pid := h.pidOf(c)
	if err := syscall.Kill(parentOf(t, pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := h.wait(c); exit.Code != -1 || !strings.Contains(exit.Lost, "shim") {
		t.Errorf("exit %+v", exit)
	}
	awaitGone(t, pid)
	if left, _ := filepath.Glob("/sys/fs/cgroup/*/pinion/" + c.Task.ID + "/main"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if exit := h.wait(c); exit.Code != -1 {
		t.Errorf("asked again: %+v", exit)
	}
}

func TestAShimKilledWhileContainerdWasAway(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("echo up; exec sleep 1000"))
	pid := h.pidOf(c)
	if err := h.daemon.Stop(h.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parentOf(t, pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.startDaemon()
	if exit := h.wait(c); exit.Code != -1 || exit.Lost == "" {
		t.Errorf("exit %+v", exit)
	}
	awaitGone(t, pid)
}

// parentOf is the process id of a process's parent: a container's shim.
func parentOf(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), ") ")
	parent, err := strconv.Atoi(strings.Fields(rest)[1])
	if err != nil {
		t.Fatal(err)
	}
	return parent
}
