package e2e

import (
	"strings"
	"testing"
)

// MIG devices go to tasks that ask for a profile, through both doors; each container sees its own alone, and a GPU that is lost takes those of its
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
