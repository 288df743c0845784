package sim

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pinion/gpu"
)

func TestASimulatedGPUIsAsBusyAsItsFileSays(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "2xh100", dir)
	uuid := uuidsOf(t, s)[1]
	usage := func() *gpu.Usage {
		all, err := s.(gpu.Meter).Usage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if all[i].UUID == uuid {
				return &all[i]
			}
		}
		return nil
	}
	idle := usage()
	if *idle.Utilization != 0 || *idle.MemoryUsedMiB != 0 || *idle.PowerWatts != 70 {
		t.Errorf("without a file: %+v", idle)
	}
	for text, want := range map[string]float64{"85\n": 85, "0.5": 0.5, "busy": -1, "NaN": -1, "101": -1} {
		err := SetUtilization(dir, 1, "0")
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "utilization", "1"), []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := usage(); (got == nil) != (want < 0) || got != nil && *got.Utilization != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	if err := SetUtilization(dir, 1, "100"); err != nil {
		t.Fatal(err)
	}
	if full := usage(); full.SMActivity == nil || *full.SMActivity != 60 || *full.PowerWatts != 700 || *full.ClockMHz <= *idle.ClockMHz || *full.MemoryUsedMiB < 70_000 {
		t.Errorf("a busy GPU: %+v", full)
	}
	if err := Break(dir, 1, "Xid 79"); err != nil {
		t.Fatal(err)
	}
	if lost := usage(); lost != nil {
		t.Errorf("of a lost GPU the driver knows %+v", lost)
	}
}

func TestASimulatedGPUSlowsItselfDown(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "2xh100", dir)
	must(t, SetUtilization(dir, 1, "100"))
	usage := func() gpu.Usage {
		t.Helper()
		all, err := s.(gpu.Meter).Usage(t.Context())
		must(t, err)
		return all[1]
	}
	before := usage()
	for _, reason := range gpu.Slowdowns() {
		must(t, SetSlowdown(dir, 1, string(reason)))
		if slow := usage(); slow.Slowdown != reason || *slow.ClockMHz >= *before.ClockMHz || (*slow.Celsius > *before.Celsius) != (reason == gpu.SlowThermal) {
			t.Errorf("%s: %+v", reason, slow)
		}
	}
	if err := SetSlowdown(dir, 1, "tired"); err == nil {
		t.Error("a GPU may be tired")
	}
	must(t, Mend(dir, 1))
	if usage().Slowdown != "" {
		t.Error("a GPU that was mended slows itself down")
	}
}

func TestALoadFollowsItsCurveAgainAndAgain(t *testing.T) {
	curve, err := parseLoad("10s:0, 30s:100, 40s:50")
	if err != nil {
		t.Fatal(err)
	}
	for passed, want := range map[time.Duration]float64{-time.Second: 0, 0: 0, 10 * time.Second: 0, 20 * time.Second: 50, 30 * time.Second: 100, 35 * time.Second: 75, 60 * time.Second: 50, 70 * time.Second: 100} {
		if got := curve.at(passed); got != want {
			t.Errorf("after %v: %v, not %v", passed, got, want)
		}
	}
	for _, wrong := range []string{"", "1,2", "5s:1,5s:2", "5s:1,3s:2", "-1s:5", "x:5", "5:5", "5s:", "1s:101"} {
		if curve, err := parseLoad(wrong); err == nil {
			t.Errorf("%q is %v", wrong, curve)
		}
		if err := SetUtilization(t.TempDir(), 0, wrong); err == nil {
			t.Errorf("%q is set", wrong)
		}
	}
}
