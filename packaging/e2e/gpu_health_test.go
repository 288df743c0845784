package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// gpus are the GPUs of the host, as a command lists them.
func (h *host) gpus(t testing.TB, command ...string) (all []document) {
	t.Helper()
	if err := json.Unmarshal([]byte(h.pinion(t, append(command, "-o", "json")...)), &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// gpu is a GPU of the host as the pool knows it.
func (h *host) gpu(t testing.TB, index int) document {
	t.Helper()
	all := h.gpus(t, "gpus")
	at := slices.IndexFunc(all, func(g document) bool { return g.at("index") == float64(index) })
	if at < 0 {
		t.Fatalf("there is no GPU %d", index)
	}
	return all[at]
}

func (h *host) waitGPU(t testing.TB, index int, health string) document {
	t.Helper()
	var last document
	eventually(t, fmt.Sprintf("GPU %d is %s", index, health), func() bool {
		last = h.gpu(t, index)
		return last.text("health") == health
	})
	return last
}

// A GPU that falls off the bus ends its task, and no other; it gets no task before it has passed a check, whatever becomes of pinion.
func TestALostGPUEndsItsTaskAndComesBackAfterACheck(t *testing.T) {
	h := newHost(t, "--gpus", "sim:2xh100")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	h.registerShell(t, "one", 1, "trap 'exit 0' TERM; while :; do sleep 0.1; done")
	first, second := h.runTask(t, "one"), h.runTask(t, "one")
	h.waitStatus(t, first, "RUNNING")
	h.waitStatus(t, second, "RUNNING")
	uuid := h.describe(t, first).text("containers", 0, "gpuIds", 0)
	index := 0
	if h.gpu(t, 0).text("uuid") != uuid {
		index = 1
	}

	h.pinion(t, "sim-gpu", "break", itoa(index), "Xid 79, the GPU has fallen off the bus")
	if task := h.waitStopped(t, first); !strings.HasPrefix(task.text("stoppedReason"), "GPUFaultError: ") || !strings.Contains(task.text("stoppedReason"), "Xid 79") || task.text("stopCode") != "ServiceSchedulerInitiated" {
		t.Errorf("task %s: %v", first, task)
	}
	if lost := h.waitGPU(t, index, "LOST"); !strings.Contains(lost.text("problem"), "Xid 79") {
		t.Errorf("the GPU: %v", lost)
	}
	if other := h.describe(t, second); other.text("lastStatus") != "RUNNING" {
		t.Errorf("the task of the other GPU: %v", other)
	}
	if a := h.mustCall(t, "RunTask", object{"taskDefinition": "one"}); !strings.Contains(fmt.Sprint(a["failures"]), "RESOURCE:GPU") {
		t.Errorf("a task for the lost GPU: %v", a)
	}
	instance := h.mustCall(t, "DescribeContainerInstances", object{"containerInstances": []string{h.describe(t, second).text("containerInstanceArn")}, "include": []string{"CONTAINER_INSTANCE_HEALTH"}})
	if text := fmt.Sprint(instance["containerInstances"]); !strings.Contains(text, "ACCELERATED_COMPUTE") || !strings.Contains(text, "IMPAIRED") {
		t.Errorf("the health of the instance: %s", text)
	}
	if _, err := h.tryPinion("gpus", "check", uuid); err == nil || !strings.Contains(err.Error(), "Xid 79") {
		t.Errorf("a check of the lost GPU: %v", err)
	}
	if _, err := h.tryPinion("gpus", "reset", uuid); err == nil || !strings.Contains(err.Error(), "a reset does not help") {
		t.Errorf("a reset of the lost GPU: %v", err)
	}

	h.pinion(t, "sim-gpu", "mend", itoa(index))
	h.waitGPU(t, index, "HEALTHY")
	h.waitStatus(t, h.runTask(t, "one"), "RUNNING")
}

// Of a GPU that needs a reset the task runs on. The reset waits until that has ended.
func TestAGPUIsResetAfterItsTask(t *testing.T) {
	h := newHost(t, "--gpus", "sim:1xh100")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	h.registerShell(t, "one", 1, "trap 'exit 0' TERM; while :; do sleep 0.1; done")
	task := h.runTask(t, "one")
	h.waitStatus(t, task, "RUNNING")
	h.pinion(t, "sim-gpu", "break", "0", "Xid 48, an uncorrectable error of its memory")
	h.waitGPU(t, 0, "NEEDS_RESET")
	h.pinion(t, "gpus", "reset", "--no-wait", h.gpu(t, 0).text("uuid"))
	if running := h.describe(t, task); running.text("lastStatus") != "RUNNING" {
		t.Errorf("its task: %v", running)
	}
	h.stop(t, task)
	h.waitGPU(t, 0, "HEALTHY")
	h.waitStatus(t, h.runTask(t, "one"), "RUNNING")

	h.pinion(t, "sim-gpu", "xid", "0", "119") // an event, after which the driver's record says nothing
	h.waitGPU(t, 0, "NEEDS_RESET")
}

// NVLinks that are down, and a fabric that a GPU has not joined, keep new tasks from that GPU alone. Each place that tells of GPUs has the reason.
func TestAGPUWithoutItsNVLinksGetsNoTask(t *testing.T) {
	h := newHost(t, "--gpus", "sim:2xh100")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	h.registerShell(t, "two", 2, "trap 'exit 0' TERM; while :; do sleep 0.1; done")
	running := h.runTask(t, "two")
	h.waitStatus(t, running, "RUNNING")
	h.pinion(t, "sim-gpu", "nvlink", "0", "2")
	h.pinion(t, "sim-gpu", "fabric", "1", "in-progress")
	h.waitGPU(t, 0, "NEEDS_RESET")
	h.waitGPU(t, 1, "UNHEALTHY")
	instance := h.mustCall(t, "DescribeContainerInstances", object{"containerInstances": []string{h.describe(t, running).text("containerInstanceArn")}, "include": []string{"CONTAINER_INSTANCE_HEALTH"}})
	for source, text := range map[string]string{"DescribeContainerInstances": fmt.Sprint(instance["containerInstances"]), "gpus": h.pinion(t, "gpus", "-o", "wide"), "hosts": h.pinion(t, "hosts", "-o", "wide")} {
		for _, words := range []string{"2 of its 18 NVLinks are down: reset it with `pinion gpus reset`", "has not joined its NVLink fabric yet"} {
			if !strings.Contains(text, words) {
				t.Errorf("%s does not say %q: %s", source, words, text)
			}
		}
	}
	if task := h.describe(t, running); task.text("lastStatus") != "RUNNING" {
		t.Errorf("a task that has them: %v", task)
	}
	if a := h.mustCall(t, "RunTask", object{"taskDefinition": "two"}); !strings.Contains(fmt.Sprint(a["failures"]), "RESOURCE:GPU") {
		t.Errorf("a task for sick GPUs: %v", a)
	}
	if _, err := h.tryPinion("sim-gpu", "nvlink", "0", "19"); err == nil || !strings.Contains(err.Error(), "18 NVLinks") {
		t.Errorf("more links than there are: %v", err)
	}
	h.pinion(t, "sim-gpu", "mend", "1")
	h.waitGPU(t, 1, "HEALTHY") // as soon as it can be used
	h.stop(t, running)
	h.pinion(t, "gpus", "reset", h.gpu(t, 0).text("uuid"))
	h.waitGPU(t, 0, "HEALTHY")
}

// A driver that hangs for a GPU keeps new tasks from that one, and one that hangs for all keeps them from all. Tasks run on; when it answers again, all is well.
func TestADriverThatHangs(t *testing.T) {
	h := newHost(t, "--gpus", "sim:2xh100")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	h.registerShell(t, "one", 1, "trap 'exit 0' TERM; while :; do sleep 0.1; done")
	h.pinion(t, "sim-gpu", "hang", "1")
	sick := h.waitGPU(t, 1, "UNHEALTHY")
	if !strings.HasPrefix(sick.text("problem"), "the driver has not answered about it since 20") {
		t.Errorf("%v", sick)
	}
	running := h.runTask(t, "one")
	h.waitStatus(t, running, "RUNNING")
	if a := h.mustCall(t, "RunTask", object{"taskDefinition": "one"}); !strings.Contains(fmt.Sprint(a["failures"]), "RESOURCE:GPU") {
		t.Errorf("a task for the other GPU: %v", a)
	}
	h.pinion(t, "sim-gpu", "mend", "1")
	h.waitGPU(t, 1, "HEALTHY")

	h.pinion(t, "sim-gpu", "hang", "driver")
	h.waitGPU(t, 0, "UNHEALTHY")
	instance := h.mustCall(t, "DescribeContainerInstances", object{"containerInstances": []string{h.describe(t, running).text("containerInstanceArn")}, "include": []string{"CONTAINER_INSTANCE_HEALTH"}})
	for source, text := range map[string]string{"DescribeContainerInstances": fmt.Sprint(instance["containerInstances"]), "hosts": h.pinion(t, "hosts", "-o", "wide"), "gpus": h.pinion(t, "gpus", "-o", "wide")} {
		if !strings.Contains(text, "the driver has not answered about it since") {
			t.Errorf("%s: %s", source, text)
		}
	}
	if task := h.describe(t, running); task.text("lastStatus") != "RUNNING" {
		t.Errorf("its task: %v", task)
	}
	h.pinion(t, "sim-gpu", "mend", "driver")
	h.waitGPU(t, 0, "HEALTHY")
	h.waitStatus(t, h.runTask(t, "one"), "RUNNING")
}

// A GPU that is not there after a restart is missed, until it is there again or somebody says that it was taken out.
func TestAGPUThatIsMissingIsMissed(t *testing.T) {
	h := newHost(t, "--gpus", "sim:2xh100")
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	first, second := h.gpu(t, 0).text("uuid"), h.gpu(t, 1).text("uuid")
	waitHealth := func(health string) {
		t.Helper()
		eventually(t, "the GPU is "+health, func() bool { return h.health(t, first) == health })
	}
	h.pinion(t, "sim-gpu", "unplug", "0")
	waitHealth("UNHEALTHY: the driver has not listed it since")
	if _, err := h.tryPinion("gpus", "forget", second); err == nil || !strings.Contains(err.Error(), "the driver lists it") {
		t.Errorf("a GPU that is there was forgotten: %v", err)
	}
	h.signalAndWait(t, syscall.SIGTERM)
	h.start(t)
	waitHealth("UNHEALTHY: the driver has not listed it since")
	h.pinion(t, "sim-gpu", "plug", "0")
	waitHealth("HEALTHY")

	h.pinion(t, "sim-gpu", "unplug", "0")
	waitHealth("UNHEALTHY: the driver has not listed it since")
	h.pinion(t, "gpus", "forget", first)
	waitHealth("none")
}

// health is that of the GPU with the UUID, with the first words of its problem; "none" when no host has it.
func (h *host) health(t testing.TB, uuid string) string {
	t.Helper()
	all := h.gpus(t, "gpus")
	at := slices.IndexFunc(all, func(g document) bool { return g.text("uuid") == uuid })
	if at < 0 {
		return "none"
	}
	problem, _, _ := strings.Cut(all[at].text("problem"), " 2") // before the time
	return strings.TrimSuffix(all[at].text("health")+": "+problem, ": ")
}
