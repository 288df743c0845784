package e2e

import (
	"strings"
	"syscall"
	"testing"
)

// MIG devices go to tasks that ask for a profile, by the CLI and by the AWS CLI; each container sees its own alone, and a GPU that is lost takes those of its
// MIG devices with it, and no other task.
func TestMIGDevicesAreGPUsOfTheirOwn(t *testing.T) {
	h := newHost(t, "--gpus", "sim:1xh100+1xh100/1x3g.40gb/2x1g.10gb")
	t.Cleanup(func() { h.down(t) })
	h.start(t)

	seen := h.pinion(t, "run", "--gpus", "1", "--mig-profile", "3g.40gb", "pinion/self", "--", "pinion", "gpus", "--container")
	if strings.Count(seen, "/dev/nvidia-caps/") != 1 || strings.Contains(seen, "/dev/nvidia0") || strings.Contains(seen, "/dev/nvidia1") || !strings.Contains(seen, "MIG 3g.40gb") {
		t.Errorf("inside:\n%s", seen)
	}

	whole := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpus", "1", "pinion/self", "--", "pinion", "hello"))
	if _, err := h.tryPinion("run", "--no-wait", "--gpus", "1", "pinion/self", "--", "pinion", "version"); err == nil || !strings.Contains(err.Error(), "0 of 1 free") {
		t.Errorf("a second whole GPU: %v", err)
	}
	h.aws(t, `aws ecs register-task-definition --family slice --placement-constraints 'type=memberOf,expression=attribute:pinion.gpu.mig-profile == 1g.10gb' \
		--container-definitions '[{"name":"c","image":"pinion/self","command":["pinion","hello"],"memory":64,"resourceRequirements":[{"type":"GPU","value":"1"}]}]'`)
	one, two := h.runTask(t, "slice"), h.runTask(t, "slice")
	for id, profile := range map[string]string{whole: "", one: "1g.10gb", two: "1g.10gb"} {
		h.waitStatus(t, id, "RUNNING")
		if held := h.gpuWith(t, h.describe(t, id).text("containers", 0, "gpuIds", 0)); held.text("migDevice", "profile") != profile {
			t.Errorf("task %s has %v, want the profile %q", id, held, profile)
		}
	}

	h.pinion(t, "sim-gpu", "xid", "1", "79")
	for _, id := range []string{one, two} {
		if task := h.waitStopped(t, id); !strings.HasPrefix(task.text("stoppedReason"), "GPUFaultError: ") {
			t.Errorf("task %s: %v", id, task)
		}
	}
	if h.describe(t, whole).text("lastStatus") != "RUNNING" {
		t.Error("the task of the other GPU has ended too")
	}
	if _, err := h.tryPinion("gpus", "reset", "127.0.0.1/1:0"); err == nil {
		t.Error("a MIG device was reset")
	}
}

func (h *host) gpuWith(t testing.TB, uuid string) document {
	t.Helper()
	for _, g := range h.gpus(t, "gpus") {
		if g.text("uuid") == uuid {
			return g
		}
	}
	t.Fatalf("there is no GPU %s", uuid)
	return nil
}

// A host that lets the pool partition its GPUs gets MIG devices as tasks ask for them, goes on after kill -9, and has whole GPUs again for tasks that
// want those.
func TestThePoolPartitionsGPUsAsTasksAsk(t *testing.T) {
	h := newHost(t, "--gpus", "sim:1xh100", "--mig", "dynamic")
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	small := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpus", "1", "--mig-profile", "1g.10gb", "pinion/self", "--", "pinion", "hello"))
	h.waitStatus(t, small, "RUNNING")
	large := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpus", "1", "--mig-profile", "4g.40gb", "pinion/self", "--", "pinion", "hello"))
	h.waitStatus(t, large, "RUNNING")
	held := h.describe(t, small).text("containers", 0, "gpuIds", 0)

	h.signalAndWait(t, syscall.SIGKILL)
	h.start(t)
	for id, profile := range map[string]string{small: "1g.10gb", large: "4g.40gb"} {
		h.waitStatus(t, id, "RUNNING")
		if got := h.gpuWith(t, h.describe(t, id).text("containers", 0, "gpuIds", 0)).text("migDevice", "profile"); got != profile {
			t.Errorf("task %s has %q, want %q", id, got, profile)
		}
	}
	if now := h.describe(t, small).text("containers", 0, "gpuIds", 0); now != held {
		t.Errorf("the MIG device of a task that runs was made anew: %s, then %s", held, now)
	}

	whole := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpus", "1", "pinion/self", "--", "pinion", "hello"))
	h.pinion(t, "stop", small, large)
	h.waitStatus(t, whole, "RUNNING")
	if all := h.gpus(t, "gpus"); len(all) != 1 || all[0].at("migDevice") != nil {
		t.Errorf("the GPU is not whole: %v", all)
	}
	if _, err := h.tryPinion("run", "--gpus", "1", "--mig-profile", "1g.5gb", "pinion/self", "--", "pinion", "version"); err == nil || !strings.Contains(err.Error(), "could ever run this") {
		t.Errorf("a profile that the GPU never has: %v", err)
	}
}
