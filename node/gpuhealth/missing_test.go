package gpuhealth_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pinion/gpu"
	"pinion/node/gpuhealth"
)

// machine is the inventory of a driver: GPUs by UUID, each at the PCI address of its own.
func machine(uuids ...string) (inventory gpu.Inventory) {
	for i, uuid := range uuids {
		inventory.Devices = append(inventory.Devices, gpu.Device{UUID: uuid, Index: i, PCI: "0000:0" + uuid[len(uuid)-1:], Model: "H100", Health: gpu.Healthy})
	}
	return inventory
}

// wantShown compares the GPUs that are shown: "GPU-0 HEALTHY".
func wantShown(t *testing.T, r *gpuhealth.Record, listed gpu.Inventory, at time.Time, want ...string) gpu.Inventory {
	t.Helper()
	shown := r.Mark(listed, at)
	var got []string
	indexes := map[int]bool{}
	for _, d := range shown.Devices {
		got = append(got, d.UUID+" "+string(d.Health))
		if indexes[d.Index] {
			t.Errorf("two GPUs have the index %d: %+v", d.Index, shown.Devices)
		}
		indexes[d.Index] = true
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("%v after the start: shown are %v, want %v", at.Sub(start), got, want)
	}
	return shown
}

// A GPU that is missing after a boot is waited for, then lost, and comes back after a check.
func TestAGPUThatIsMissingAfterABootIsLost(t *testing.T) {
	dir := t.TempDir()
	wantShown(t, openRecord(t, dir, "boot-1"), machine("GPU-0", "GPU-1", "GPU-2"), start, "GPU-0 HEALTHY", "GPU-1 HEALTHY", "GPU-2 HEALTHY")

	r := openRecord(t, dir, "boot-2")
	boot := start.Add(time.Hour)
	wantShown(t, r, gpu.Inventory{Problem: "the driver is not loaded"}, boot)
	wantShown(t, r, machine("GPU-0", "GPU-2"), boot, "GPU-0 HEALTHY", "GPU-2 HEALTHY", "GPU-1 UNHEALTHY")
	shown := wantShown(t, r, machine("GPU-0", "GPU-2"), boot.Add(61*time.Second), "GPU-0 HEALTHY", "GPU-2 HEALTHY", "GPU-1 LOST")
	if problem := shown.Devices[2].Problem; !strings.Contains(problem, "since 2026-05-01T13:00:00Z (PCI address 0000:01)") || !strings.Contains(problem, "pinion gpus forget GPU-1") {
		t.Errorf("its problem: %s", problem)
	}
	wantDue(t, r, boot.Add(time.Hour))

	r = openRecord(t, dir, "boot-3") // missing for longer than the grace, so lost at once
	wantShown(t, r, machine("GPU-0", "GPU-2"), boot.Add(2*time.Hour), "GPU-0 HEALTHY", "GPU-2 HEALTHY", "GPU-1 LOST")
	back := boot.Add(3 * time.Hour)
	wantShown(t, r, machine("GPU-0", "GPU-1", "GPU-2"), back, "GPU-0 HEALTHY", "GPU-1 SUSPECT", "GPU-2 HEALTHY")
	wantDue(t, r, back, "GPU-1")
	r.Checked("GPU-1", nil, back)
	wantShown(t, r, machine("GPU-0", "GPU-1", "GPU-2"), back, "GPU-0 HEALTHY", "GPU-1 HEALTHY", "GPU-2 HEALTHY")
}

// Drivers list the GPUs of a machine that boots one after the other: one that comes within a minute is as it was.
func TestAGPUThatComesLateIsAsItWas(t *testing.T) {
	r := newRecord(t)
	wantShown(t, r, machine("GPU-0", "GPU-1"), start, "GPU-0 HEALTHY", "GPU-1 HEALTHY")
	wantShown(t, r, machine("GPU-0"), start.Add(time.Second), "GPU-0 HEALTHY", "GPU-1 UNHEALTHY")
	wantShown(t, r, machine("GPU-0", "GPU-1"), start.Add(30*time.Second), "GPU-0 HEALTHY", "GPU-1 HEALTHY")
}

// The tasks of a GPU that vanishes while they run end when it counts as lost.
func TestTasksOfAGPUThatVanishesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRecord(t)
		r.Mark(machine("GPU-0", "GPU-1"), start)
		var ended error
		go func() { ended = r.Watch(t.Context(), []string{"GPU-1"}) }()
		synctest.Wait()
		for after := range 61 {
			synctest.Wait()
			if ended != nil {
				t.Fatalf("%d s after it vanished: %v", after, ended)
			}
			r.Mark(machine("GPU-0"), start.Add(time.Duration(after)*time.Second))
		}
		synctest.Wait()
		if ended == nil || !strings.Contains(ended.Error(), "has not listed it") {
			t.Errorf("its task: %v", ended)
		}
	})
}

// A GPU is not missed when another one has its place, when the host has other GPUs than before, or when somebody says that it was taken out.
func TestAGPUThatWasTakenOutIsNotMissed(t *testing.T) {
	dir := t.TempDir()
	r := openRecord(t, dir, "boot-1")
	wantShown(t, r, machine("GPU-0", "GPU-1"), start, "GPU-0 HEALTHY", "GPU-1 HEALTHY")
	wantShown(t, r, machine("GPU-0", "GPU-new-1"), start, "GPU-0 HEALTHY", "GPU-new-1 HEALTHY")

	wantShown(t, r, machine("GPU-0"), start, "GPU-0 HEALTHY", "GPU-new-1 UNHEALTHY")
	if had, err := r.Forget("GPU-0"); !had || !errors.Is(err, gpu.ErrPresent) {
		t.Errorf("a GPU that is there: %t, %v", had, err)
	}
	if had, err := r.Forget("GPU-x"); had || err != nil {
		t.Errorf("a GPU that was never there: %t, %v", had, err)
	}
	if had, err := r.Forget("GPU-new-1"); !had || err != nil {
		t.Errorf("a missing GPU: %t, %v", had, err)
	}
	wantShown(t, r, machine("GPU-0"), start.Add(time.Hour), "GPU-0 HEALTHY")

	other, err := gpuhealth.Open(gpuhealth.Config{Dir: dir, Boot: "boot-1", Source: "sim:1xt4", Log: nil})
	if err != nil {
		t.Fatal(err)
	}
	wantShown(t, other, machine("GPU-9"), start.Add(time.Hour), "GPU-9 HEALTHY")
}

// A check of a GPU that is missing ends at once, with why.
func TestACheckOfAMissingGPUSaysThatItIsMissing(t *testing.T) {
	r := newRecord(t)
	r.Mark(machine("GPU-0", "GPU-1"), start)
	r.Mark(machine("GPU-0"), start)
	r.Request("GPU-1", false, start.Add(time.Hour))
	if outcome, ok := r.Outcome("GPU-1"); !ok || !outcome.Done || !strings.Contains(outcome.Problem, "has not listed it") {
		t.Errorf("%+v, %t", outcome, ok)
	}
}
