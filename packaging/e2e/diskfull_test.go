package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAFullDiskIsSaidAndOutlived fills the file system of a data directory: changes are refused with the reason,
// reads go on, nothing is lost, and when there is space again the same process takes changes again.
func TestAFullDiskIsSaidAndOutlived(t *testing.T) {
	h := newHost(t, "--gpus", "none")
	mountSmallDisk(t, h.dir)
	h.start(t)
	h.mustCall(t, "RegisterTaskDefinition", smallDefinition("before"))

	filler := filepath.Join(h.dir, "filler")
	fillDisk(t, filler)
	status, a := h.postUntil(t, "RegisterTaskDefinition", `{"family":"during","containerDefinitions":[{"name":"c","image":"pinion/self","memory":10}]}`, func(status int) bool { return status != 200 })
	if status < 500 || !strings.Contains(a.text("message"), "disk") {
		t.Errorf("a change on a full disk: %d %v", status, a)
	}
	h.mustCall(t, "DescribeTaskDefinition", object{"taskDefinition": "before"})

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	h.postUntil(t, "RegisterTaskDefinition", `{"family":"after","containerDefinitions":[{"name":"c","image":"pinion/self","memory":10}]}`, func(status int) bool { return status == 200 })
	h.mustCall(t, "DescribeTaskDefinition", object{"taskDefinition": "before"})
}

// A task that logs as fast as it can, with all the options that a definition may have, leaves room on a small disk: it ends well, its
// log has its end, and the pool takes changes.
func TestATaskThatLogsWithoutEndLeavesRoomOnTheDisk(t *testing.T) {
	h := newHost(t, "--gpus", "none")
	mountSmallDisk(t, h.dir)
	h.registry = startDockerHub(t)
	h.start(t)
	h.registerShell(t, "storm", 0, "yes 'a line that is one of very many, and says nothing at all' | head -n 5000000; echo the end",
		object{"logConfiguration": object{"logDriver": "json-file", "options": object{"max-size": "16g", "max-file": "1"}}})
	id := h.runTask(t, "storm")
	if code := h.waitStopped(t, id).at("containers", 0, "exitCode"); code != 0.0 {
		t.Errorf("exit code %v", code)
	}
	h.mustCall(t, "CreateCluster", object{"clusterName": "after"})
	if log := h.pinion(t, "logs", "--tail", "1", id); !strings.Contains(log, "the end") {
		t.Errorf("the log ends with %q", log)
	}
	size := int64(0)
	err := filepath.WalkDir(filepath.Join(h.dir, "logs"), func(_ string, d os.DirEntry, err error) error {
		if info, infoErr := d.Info(); err == nil && infoErr == nil {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > 64<<20 {
		t.Errorf("the logs of a disk of 600 MiB are %d MiB, %v", size>>20, err)
	}
}

func smallDefinition(family string) object {
	return object{"family": family, "containerDefinitions": []object{{"name": "c", "image": "pinion/self", "memory": 10}}}
}

// mountSmallDisk puts a file system of its own under the directory; the clean-ups take the host down, then it.
func mountSmallDisk(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=600m,mode=700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if out, err := output(pinionDown(dir)); err != nil {
			t.Errorf("pinion down: %s %v", out, err)
		}
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmounting %s: %v", dir, err)
		}
		os.Remove(dir)
	})
}

// fillDisk writes until there is no space left.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// postUntil repeats a request until its status is the wanted one.
func (h *host) postUntil(t *testing.T, operation, body string, wanted func(status int) bool) (status int, a document) {
	t.Helper()
	eventually(t, operation+" answers as it should", func() bool {
		status, a = h.post(t, operation, body)
		return wanted(status)
	})
	return status, a
}
