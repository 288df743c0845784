package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"pinion/node/containerd/containerdtest"
)

var (
	containerdKills = flag.Int("containerd-kills", 2, "how often containerd is killed under running tasks")
	shimKills       = flag.Int("shim-kills", 2, "how often the shim of a task is killed")
)

// TestContainerdAndShimsAreKilled kills containerd time and again, which no task notices, and then shims: the task of a shim ends, with
// its processes, and its GPU is free.
func TestContainerdAndShimsAreKilled(t *testing.T) {
	hub := startDockerHub(t)
	h := newHost(t, "--gpus", "sim:2xt4")
	h.registry = hub
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	const endless = `i=0; while true; do echo n=$i; i=$((i+1)); usleep 100000; done`
	h.registerShell(t, "endless", 0, endless)
	h.registerShell(t, "endless-gpu", 2, endless)

	undisturbed := map[string]document{}
	for range 3 {
		id := h.runTask(t, "endless")
		undisturbed[id] = h.waitStatus(t, id, "RUNNING")
		h.waitLog(t, id, "n=3")
	}
	for range *containerdKills {
		pid := containerdPID(t, h)
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		eventually(t, "containerd runs again", func() bool { p, err := readPID(h); return err == nil && p != pid })
		h.checkUnchanged(t, undisturbed)
	}
	for range *shimKills {
		id := h.runTask(t, "endless-gpu") // of both GPUs: those of the task before are free
		h.waitStatus(t, id, "RUNNING")
		pid := taskProcess(t, id)
		if err := syscall.Kill(containerdtest.ParentOf(t, pid), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if task := h.waitStopped(t, id); !strings.Contains(fmt.Sprint(task), "shim") {
			t.Errorf("nothing says that the shim has gone: %v", task)
		}
		eventually(t, "the processes of the task are gone", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	}
	h.checkUnchanged(t, undisturbed)
}

// taskProcess is a process of a task's container.
func taskProcess(t *testing.T, task string) int {
	t.Helper()
	groups, _ := filepath.Glob("/sys/fs/cgroup/*/pinion/" + task + "/main/cgroup.procs")
	unified, _ := filepath.Glob("/sys/fs/cgroup/pinion/" + task + "/main/cgroup.procs")
	for _, group := range append(groups, unified...) {
		raw, _ := os.ReadFile(group)
		if pid, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(string(raw), "\n", 2)[0])); err == nil {
			return pid
		}
	}
	t.Fatalf("task %s has no process", task)
	return 0
}
