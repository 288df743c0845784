package gpuhealth_test

import (
	"testing"
	"time"

	"pinion/gpu"
)

// A GPU that needs a reset and is slow besides needs the reset.
func TestASlowGPUThatIsWorseOffStaysSo(t *testing.T) {
	r := newRecord(t)
	r.Mark(said(gpu.NeedsReset, gpu.Healthy), start)
	for i := range 60 {
		r.AddUsage(map[string]gpu.Usage{"GPU-0": {Slowdown: gpu.SlowPower}, "GPU-1": {}}, start.Add(time.Duration(i)*gpu.UsageInterval))
	}
	wantHealth(t, r, gpu.NeedsReset, gpu.Healthy)
	wantDue(t, r, start.Add(time.Hour))
	for i := range 12 { // of GPUs that are not measured nothing is slow
		r.AddUsage(map[string]gpu.Usage{}, start.Add(time.Hour+time.Duration(i)*gpu.UsageInterval))
	}
	wantDue(t, r, start.Add(2*time.Hour), "GPU-0")
}
