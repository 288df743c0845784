package e2e

import (
	"testing"
)

// usage is how the GPUs of the host are used, by index, as `pinion top` has it.
func (h *host) usage(t testing.TB) map[int]document {
	t.Helper()
	byIndex := map[int]document{}
	for _, g := range h.gpus(t, "top", "--once") {
		index, _ := g.at("index").(float64)
		byIndex[int(index)] = g
	}
	return byIndex
}

// What a task does with its GPU is in `pinion top` while it runs, and in its record when it has ended. A GPU that nobody has is used by nobody.
func TestTheUseOfGPUsIsMeasured(t *testing.T) {
	h := newHost(t, "--gpus", "sim:2xh100")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	h.registerShell(t, "one", 1, "trap 'exit 0' TERM; while :; do sleep 0.1; done")
	task := h.runTask(t, "one")
	h.waitStatus(t, task, "RUNNING")
	uuid := h.describe(t, task).text("containers", 0, "gpuIds", 0)
	index := 0
	if h.gpu(t, 0).text("uuid") != uuid {
		index = 1
	}
	h.pinion(t, "sim-gpu", "utilization", itoa(index), "80")

	eventually(t, "the GPU of the task is busy", func() bool { return h.usage(t)[index].at("usage", "utilization") == 80.0 })
	used := h.usage(t)
	if used[index].text("task") != task || used[1-index].at("usage", "utilization") != 0.0 {
		t.Errorf("the GPUs: %v", used)
	}
	eventually(t, "two samples of the busy GPU", func() bool {
		var samples []document
		if err := h.api.Get(t.Context(), "/v1/gpus/"+uuid+"/usage", nil, &samples); err != nil {
			t.Fatal(err)
		}
		return len(samples) >= 2 && samples[len(samples)-2].at("utilization") == 80.0
	})
	h.stop(t, task)
	ended := h.waitStopped(t, task)
	measured, _ := ended.at("containers", 0, "gpuTotals", "measuredSeconds").(float64)
	busy, _ := ended.at("containers", 0, "gpuTotals", "busySeconds").(float64)
	joules, _ := ended.at("containers", 0, "gpuTotals", "joules").(float64)
	if busy < 1 || busy > measured || joules < 70*measured {
		t.Errorf("the totals of the task: %v of %v seconds busy, %v J", busy, measured, joules)
	}
}
