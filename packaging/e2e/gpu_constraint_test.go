package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// A task gets the GPUs that it asks for, of a host that has several models; one that nobody has is refused with what there is.
func TestATaskGetsTheModelOfGPUThatItAsksFor(t *testing.T) {
	h := newHost(t, "--gpus", "sim:2xh100+2xt4")
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	for _, k := range []struct{ flag, model string }{{"--gpu-model=t4|l4", "Tesla T4"}, {"--gpu-memory-min=80g", "H100"}, {"--constraint=attribute:pinion.gpu.compute-capability < 8.0", "Tesla T4"}} {
		id := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpus", "1", k.flag, "pinion/self", "--", "pinion", "hello"))
		h.waitStatus(t, id, "RUNNING")
		if held := h.modelOf(t, h.describe(t, id).text("containers", 0, "gpuIds", 0)); !strings.Contains(held, k.model) {
			t.Errorf("%s: a %s", k.flag, held)
		}
	}
	if _, err := h.tryPinion("run", "--no-wait", "--gpus", "1", "--gpu-model", "t4", "pinion/self", "--", "pinion", "version"); err == nil || !strings.Contains(err.Error(), "0 free of the 2 that meet the constraints") {
		t.Errorf("a third T4: %v", err)
	}
	if _, err := h.tryPinion("run", "--gpus", "1", "--gpu-model", "b200", "pinion/self", "--", "pinion", "version"); err == nil || !strings.Contains(fmt.Sprint(err), "no GPU of the host meets the constraints") {
		t.Errorf("a B200: %v", err)
	}
}

// A task that can run on several kinds of GPUs gets the first of them that is free, and its container has as many as it says.
func TestATaskGetsOneOfItsAlternatives(t *testing.T) {
	h := newHost(t, "--gpus", "sim:1xh200+2xh100")
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	for _, want := range []struct {
		model string
		gpus  int
	}{{"H200", 1}, {"H100", 2}} {
		id := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpu-alternatives", "h200:1/h100:2", "pinion/self", "--", "pinion", "hello"))
		h.waitStatus(t, id, "RUNNING")
		task := h.describe(t, id)
		for i := range want.gpus {
			if held := h.modelOf(t, task.text("containers", 0, "gpuIds", i)); !strings.Contains(held, want.model) {
				t.Errorf("GPU %d is a %s, want %s", i, held, want.model)
			}
		}
		if given := task.text("overrides", "containerOverrides", 0, "resourceRequirements", 0, "value"); given != fmt.Sprint(want.gpus) {
			t.Errorf("its overrides tell %s GPUs, want %d", given, want.gpus)
		}
	}
	waiting := strings.TrimSpace(h.pinion(t, "run", "-d", "--gpu-alternatives", "H200:1/H100:2", "pinion/self", "--", "pinion", "hello"))
	why := h.pinion(t, "why", waiting)
	for _, part := range []string{"H200:1: ", "H100:2: "} {
		if !strings.Contains(why, part) {
			t.Errorf("why does not tell of %s:\n%s", part, why)
		}
	}
}

func (h *host) modelOf(t testing.TB, uuid string) string {
	t.Helper()
	for _, g := range h.gpus(t, "gpus") {
		if g.text("uuid") == uuid {
			return g.text("model")
		}
	}
	return ""
}
