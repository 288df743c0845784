package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/sys/mountinfo"
)

// helperOfFileSystems is what mount(8) runs for the type fuse.pinion-e2e. It stands in for a server: what is written is in memory as long as it is mounted.
const helperOfFileSystems = "/sbin/mount.fuse.pinion-e2e"

// Tasks find each other's files in a file system that their host mounts for them, also when pinion was killed in between. It is unmounted with the last one.
func TestTasksShareAFileSystemThatTheirHostMounts(t *testing.T) {
	h := newHost(t, "--gpus", "none", "--file-system", "models=fuse.pinion-e2e:nas,default_permissions")
	h.registry = startDockerHub(t)
	if err := os.WriteFile(helperOfFileSystems, []byte("#!/bin/sh\nmount -t tmpfs -o mode=777 none \"$2\" && mkdir -m 777 \"$2/llm\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		h.down(t)
		if err := os.Remove(helperOfFileSystems); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Error(err)
		}
	})
	h.start(t)
	in := func(name, root string, readOnly bool) object {
		more := mounting("", readOnly)
		more["volumes"] = []object{{"name": "v", "efsVolumeConfiguration": object{"fileSystemId": name, "rootDirectory": root}}}
		return more
	}
	h.registerShell(t, "fs-other", 0, "true", in("scratch", "/", false))
	if failures := fmt.Sprint(h.mustCall(t, "RunTask", object{"taskDefinition": "fs-other"})["failures"]); !strings.Contains(failures, "--file-system scratch=") {
		t.Errorf("a file system that no host has: %s", failures)
	}
	h.registerShell(t, "fs-writes", 0, "echo weights > /v/w; while [ ! -e /v/seen ]; do sleep 0.1; done", in("models", "/llm", false))
	writer := h.runTask(t, "fs-writes")
	h.waitStatus(t, writer, "RUNNING")
	if got := mountsBelow(t, h.dir); got != 1 {
		t.Errorf("%d file systems are mounted", got)
	}
	h.signalAndWait(t, syscall.SIGKILL)
	h.start(t)
	h.registerShell(t, "fs-reads", 0, "grep weights /v/llm/w && ! touch /v/no", in("models", "", true))
	if task := h.waitStopped(t, h.runTask(t, "fs-reads")); task.at("containers", 0, "exitCode") != 0.0 {
		t.Errorf("the reader: %v", task)
	}
	h.registerShell(t, "fs-ends", 0, "touch /v/seen", in("models", "/llm", false))
	h.waitStopped(t, h.runTask(t, "fs-ends"))
	h.waitStopped(t, writer)
	if got := mountsBelow(t, h.dir); got != 0 {
		t.Errorf("%d file systems are mounted, and no task is left", got)
	}
	h.registerShell(t, "fs-missing", 0, "true", in("models", "/none", false))
	if task := h.waitStopped(t, h.runTask(t, "fs-missing")); !strings.Contains(fmt.Sprint(task["stoppedReason"]), "ResourceInitializationError") {
		t.Errorf("a directory that is missing: %v", task)
	}
}

// mountsBelow counts the file systems that the host has mounted for its tasks.
func mountsBelow(t *testing.T, dir string) int {
	t.Helper()
	found, err := mountinfo.GetMounts(mountinfo.PrefixFilter(dir + "/filesystems"))
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}
