package gpuhealth_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
)

// A driver that hangs for seconds costs new tasks those seconds. After a minute the host has to be rebooted, and the GPU has to pass a check even if the
// driver answers again.
func TestAGPUAboutWhichTheDriverDoesNotAnswer(t *testing.T) {
	r := newRecord(t)
	hung := func(after time.Duration, health gpu.Health, words string) {
		t.Helper()
		shown := r.Mark(said(gpu.Hung, gpu.Healthy), start.Add(after)).Devices
		if shown[0].Health != health || !strings.HasPrefix(shown[0].Problem, "the driver has not answered about it since "+words) || shown[1].Health != gpu.Healthy {
			t.Errorf("after %v: %+v", after, shown)
		}
	}
	hung(0, gpu.Unhealthy, "2026-05-01T12:00:00Z")
	wantHealth(t, r, gpu.Healthy, gpu.Healthy) // it answers again
	hung(time.Hour, gpu.Unhealthy, "2026-05-01T13:00:00Z")
	hung(time.Hour+59*time.Second, gpu.Unhealthy, "2026-05-01T13:00:00Z")
	hung(time.Hour+time.Minute, gpu.NeedsReboot, "2026-05-01T13:00:00Z, it hangs: reboot the host")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Watch(ctx, all); err != nil {
		t.Errorf("its task ends: %v", err)
	}
	wantHealth(t, r, gpu.NeedsReboot, gpu.Healthy)
	wantDue(t, r, start.Add(2*time.Hour), "GPU-0")
	r.Checked("GPU-0", nil, start.Add(2*time.Hour))
	wantHealth(t, r, gpu.Healthy, gpu.Healthy)
}

// What is known of a GPU stays known while the driver hangs.
func TestASickGPUAboutWhichTheDriverDoesNotAnswer(t *testing.T) {
	r := newRecord(t)
	r.Mark(said(gpu.Lost, gpu.Healthy), start)
	for _, after := range []time.Duration{time.Second, time.Hour} {
		if shown := r.Mark(said(gpu.Hung, gpu.Healthy), start.Add(after)).Devices[0]; shown.Health != gpu.Lost {
			t.Errorf("after %v: %+v", after, shown)
		}
	}
}
