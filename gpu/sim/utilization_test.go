package sim

import (
	"os"
	"path/filepath"
	"testing"

	"pinion/gpu"
)

func TestASimulatedGPUIsAsBusyAsItsFileSays(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "2xh100", dir)
	uuid := uuidsOf(t, s)[1]
	if percent, err := s.(gpu.Meter).Utilization(t.Context(), uuid); err != nil || percent != 0 {
		t.Errorf("without a file: %v %v", percent, err)
	}
	file := filepath.Join(dir, "utilization", "1")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]float64{"85\n": 85, "0.5": 0.5, "busy": -1, "NaN": -1, "101": -1} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if percent, err := s.(gpu.Meter).Utilization(t.Context(), uuid); (err != nil) != (want < 0) || err == nil && percent != want {
			t.Errorf("%q: %v %v", text, percent, err)
		}
	}
	if _, err := s.(gpu.Meter).Utilization(t.Context(), "GPU-of-another"); err == nil {
		t.Error("a GPU of another host is one")
	}
}
