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

func (h *host) modelOf(t testing.TB, uuid string) string {
	t.Helper()
	for _, g := range h.gpus(t, "gpus") {
		if g.text("uuid") == uuid {
			return g.text("model")
		}
	}
	return ""
}
