package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var gpusLate = flag.Duration("gpus-late", 2*time.Second, "how long after the first work on a host its GPUs come")

// A host reboots, and its GPUs are there only when the driver has loaded: earlier tasks ended and are not run twice, work without GPUs
// is placed meanwhile, work with GPUs waits in the queue or is refused for that reason, and gets them when they come.
func TestARebootedHostGetsItsGPUsLate(t *testing.T) {
	h := newHost(t, "--gpus", "sim:2xt4")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	witness := h.witness(t)
	volume := object{"volumes": []object{{"name": "w", "host": object{"sourcePath": witness}}}, "mountPoints": []object{{"sourceVolume": "w", "containerPath": "/w"}}}
	const once = `mktemp /w/$HOSTNAME-XXXXXX; exec sleep 1000`
	h.registerShell(t, "plain", 0, once, volume)
	h.registerShell(t, "with-gpu", 1, once, volume)
	h.registerShell(t, "with-both", 2, once, volume)
	before := []string{h.runTask(t, "plain"), h.runTask(t, "with-gpu")}
	for _, id := range before {
		h.waitStatus(t, id, "RUNNING")
	}
	started := func() int { files, _ := os.ReadDir(witness); return len(files) }
	eventually(t, "both have begun", func() bool { return started() == 2 })

	if out, err := output(pinionDown(h.dir)); err != nil { // as a reboot, it ends every process and keeps the files
		t.Fatal(out, err)
	}
	absent := filepath.Join(h.dir, "sim", "absent")
	if err := os.WriteFile(absent, []byte("the driver is not loaded yet"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	h.waitStopped(t, before[0])
	if refused := h.mustCall(t, "RunTask", object{"taskDefinition": "with-gpu"}); refused.text("failures", 0, "reason") != "RESOURCE:GPU" {
		t.Errorf("a task with a GPU before there is one: %v", refused)
	}
	waiting := taskID(h.mustCall(t, "RunTask", object{"taskDefinition": "with-both", "capacityProviderStrategy": []object{{"capacityProvider": "PINION"}}}))
	meanwhile := h.runTask(t, "plain")
	h.waitStatus(t, meanwhile, "RUNNING")

	came := make(chan error, 1)
	time.AfterFunc(*gpusLate, func() { came <- os.Remove(absent) })
	if err := <-came; err != nil {
		t.Fatal(err)
	}
	h.waitStopped(t, before[1])
	h.waitStatus(t, waiting, "RUNNING")
	if gpus := h.describe(t, waiting).list("containers", 0, "gpuIds"); len(gpus) != 2 {
		t.Errorf("the task that waited has GPUs %v", gpus)
	}
	eventually(t, "both have begun", func() bool { return started() == 4 })
	if out := h.pinion(t, "hosts"); strings.Contains(out, "not loaded") {
		t.Errorf("the host still says that its driver is not loaded:\n%s", out)
	}
}
