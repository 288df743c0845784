package gpu_test

import (
	"strings"
	"testing"

	"pinion/gpu"
)

func TestEveryFindingSaysWhatToDo(t *testing.T) {
	for _, state := range gpu.FabricStates() {
		f := state.Finding("SOME_REASON")
		if f.Health == gpu.Healthy || !strings.Contains(f.Problem, "fabric") || !strings.Contains(f.Problem, ": ") {
			t.Errorf("%s: %+v", state, f)
		}
		if action := f.Health.RecoveryAction(); !strings.HasSuffix(f.Problem, action) {
			t.Errorf("%s: %q does not end with %q", state, f.Problem, action)
		}
	}
	if f := gpu.FabricState("completed").Finding(""); f != (gpu.Finding{}) {
		t.Errorf("a device that has joined: %+v", f)
	}
	for down, want := range map[int]string{0: "", 1: "1 of its 18 NVLinks is down: reset it", 3: "3 of its 18 NVLinks are down: reset it"} {
		if f := gpu.NVLinksDown(down, 18); !strings.HasPrefix(f.Problem, want) || (f.Health == gpu.NeedsReset) != (want != "") {
			t.Errorf("%d: %+v", down, f)
		}
	}
}
