package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The setting of a cluster, by the ECS API, holds for what is run from then on: each task has a root of its own that is nobody on the
// host, with its GPU and its volume, and stays what it is when pinion is killed.
func TestTasksOfAClusterRunInUserNamespaces(t *testing.T) {
	hub := startDockerHub(t)
	h := newHost(t, "--gpus", "sim:2xh100")
	h.registry = hub
	t.Cleanup(func() { h.down(t) })
	if err := os.Chmod(h.dir, 0o711); err != nil { // as pinion makes it
		t.Fatal(err)
	}
	h.start(t)
	witness := h.witness(t)
	volume := mounting(witness, false)
	const script = `echo root $(awk '{print $2}' /proc/self/uid_map); touch /v/$(cat /proc/sys/kernel/random/uuid); ls /dev | grep -c '^nvidia[0-9]'; i=0; while [ ! -e /v/end ]; do echo n=$i; i=$((i+1)); usleep 100000; done; exit 7`
	h.registerShell(t, "who", 1, script, volume)
	h.registerShell(t, "shares", 0, "true", object{"networkMode": "host"})
	rootOf := func(id string) (root uint64) {
		log := h.waitLog(t, id, "\n1\n") // its one GPU
		root, err := strconv.ParseUint(strings.Fields(log)[1], 10, 64)
		if err != nil {
			t.Errorf("task %s wrote %q", id, log)
		}
		return root
	}
	plain := h.runTask(t, "who")
	if root := rootOf(plain); root != 0 {
		t.Errorf("without the setting root is %d", root)
	}
	set := func(value string) {
		h.mustCall(t, "UpdateClusterSettings", object{"cluster": "default", "settings": []object{{"name": "userNamespaces", "value": value}}})
	}
	set("enabled")
	id := h.runTask(t, "who")
	before := map[string]document{id: h.waitStatus(t, id, "RUNNING"), plain: h.waitStatus(t, plain, "RUNNING")}
	if root := rootOf(id); root < 1<<31 {
		t.Errorf("root is %d", root)
	}
	if a := h.mustCall(t, "RunTask", object{"taskDefinition": "shares"}); !strings.Contains(fmt.Sprint(a["failures"]), "userNamespaces") {
		t.Errorf("a task on the network of the host: %v", a)
	}

	h.signalAndWait(t, syscall.SIGKILL)
	h.start(t)
	h.checkUnchanged(t, before)
	if err := os.WriteFile(filepath.Join(witness, "end"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for id := range before {
		if task := h.waitStopped(t, id); task.at("containers", 0, "exitCode") != 7.0 {
			t.Errorf("task %s ended as %v", id, task)
		}
	}
	checkRootsFiles(t, witness, 3)
	set("disabled")
	if root := rootOf(h.runTask(t, "who")); root != 0 {
		t.Errorf("with the setting disabled again root is %d", root)
	}
}

// checkRootsFiles checks that a volume has so many files, and that each belongs to root of the host.
func checkRootsFiles(t *testing.T, volume string, count int) {
	t.Helper()
	made, err := os.ReadDir(volume)
	if err != nil || len(made) != count {
		t.Errorf("the volume has %v, %v", made, err)
	}
	for _, file := range made {
		if info, err := file.Info(); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("%s in the volume does not belong to root: %v", file.Name(), err)
		}
	}
}
