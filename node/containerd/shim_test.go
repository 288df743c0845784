package containerd_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pinion/node/containerd/containerdtest"
)

func TestAKilledShimLosesTheExitCodeAndNothingElse(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("echo up; exec sleep 1000"))
	h.awaitLine(c, "up")
	pid := h.pidOf(c)
	if err := syscall.Kill(containerdtest.ParentOf(t, pid), syscall.SIGKILL); err != nil {
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
	if err := syscall.Kill(containerdtest.ParentOf(t, pid), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.startDaemon()
	if exit := h.wait(c); exit.Code != -1 || exit.Lost == "" {
		t.Errorf("exit %+v", exit)
	}
	awaitGone(t, pid)
}
