package gpuhealth_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/node/gpuhealth"
)

var (
	start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	all   = []string{"GPU-0", "GPU-1"}
	both  = machine(all...).Devices
)

func openRecord(t *testing.T, dir, boot string) *gpuhealth.Record {
	t.Helper()
	r, err := gpuhealth.Open(gpuhealth.Config{Dir: dir, Boot: boot, Source: "auto", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newRecord(t *testing.T) *gpuhealth.Record {
	return openRecord(t, t.TempDir(), "boot-1")
}

// said is a source's inventory of two GPUs.
func said(zero, one gpu.Health) gpu.Inventory {
	return gpu.Inventory{Devices: []gpu.Device{{UUID: "GPU-0", Health: zero}, {UUID: "GPU-1", Health: one, Index: 1}}}
}

// wantHealth compares what is shown of two GPUs of which the source says nothing.
func wantHealth(t *testing.T, r *gpuhealth.Record, zero, one gpu.Health) {
	t.Helper()
	shown := r.Mark(said(gpu.Healthy, gpu.Healthy), start)
	if shown.Devices[0].Health != zero || shown.Devices[1].Health != one {
		t.Errorf("shown are %s %q and %s %q, want %s and %s", shown.Devices[0].Health, shown.Devices[0].Problem, shown.Devices[1].Health, shown.Devices[1].Problem, zero, one)
	}
}

func wantDue(t *testing.T, r *gpuhealth.Record, at time.Time, uuids ...string) {
	t.Helper()
	due, _ := r.Due(at)
	slices.Sort(due)
	if !slices.Equal(due, uuids) {
		t.Errorf("%v after the start the GPUs %v are due for a check, want %v", at.Sub(start), due, uuids)
	}
}

func TestAnErrorOfTheDriverTakesItsGPUOutOfUseUntilACheckPasses(t *testing.T) {
	r := newRecord(t)
	r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: 119}, both, start)
	wantHealth(t, r, gpu.NeedsReset, gpu.Healthy)
	wantDue(t, r, start.Add(29*time.Second)) // the driver's own record may come later than the event
	wantDue(t, r, start.Add(30*time.Second), "GPU-0")

	r.Checked("GPU-0", errors.New("the driver asks for a reset"), start.Add(30*time.Second))
	wantHealth(t, r, gpu.NeedsReset, gpu.Healthy)
	wantDue(t, r, start.Add(49*time.Second))
	wantDue(t, r, start.Add(50*time.Second), "GPU-0")

	r.Checked("GPU-0", nil, start.Add(time.Minute))
	wantHealth(t, r, gpu.Healthy, gpu.Healthy)
	wantDue(t, r, start.Add(time.Hour))
}

func TestAGPUThatIsLostEndsTheTasksOfOtherGPUsToo(t *testing.T) {
	r := newRecord(t)
	ended := make(chan error, 1)
	go func() { ended <- r.Watch(t.Context(), all) }()
	r.AddFault(gpu.Fault{Xid: 79}, both, start) // all of them at once
	if why := <-ended; why == nil {
		t.Error("the task goes on")
	}
}

func TestAnErrorOfTheProgramLeavesTheGPUInUse(t *testing.T) {
	r := newRecord(t)
	for _, code := range []uint64{13, 31, 43, 45, 94, 154} {
		r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: code}, both, start)
	}
	r.AddFault(gpu.Fault{Text: "the driver's events cannot be read"}, both, start)
	wantHealth(t, r, gpu.Healthy, gpu.Healthy)
}

func TestAnErrorThatNamesNoGPUIsOfAll(t *testing.T) {
	r := newRecord(t)
	r.AddFault(gpu.Fault{Xid: 79}, both, start)
	wantHealth(t, r, gpu.Lost, gpu.Lost)
}

func TestTheWorstStateStays(t *testing.T) {
	r := newRecord(t)
	r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: 79}, both, start)
	r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: 48}, both, start)
	wantHealth(t, r, gpu.Lost, gpu.Healthy)
	shown := r.Mark(said(gpu.Replace, gpu.Healthy), start)
	if shown.Devices[0].Health != gpu.Replace {
		t.Errorf("shown is %s", shown.Devices[0].Health)
	}
	wantDue(t, r, start.Add(time.Hour)) // a broken GPU does not mend itself
	r.MarkReset("GPU-0")
	wantDue(t, r, start.Add(time.Hour), "GPU-0")
}

func TestARecordOutlivesTheAgentAndAskForACheckAfterABoot(t *testing.T) {
	dir := t.TempDir()
	openRecord(t, dir, "boot-1").AddFault(gpu.Fault{UUID: "GPU-0", Xid: 79}, both, start)

	r := openRecord(t, dir, "boot-1")
	wantHealth(t, r, gpu.Lost, gpu.Healthy)
	if r.Repaired("GPU-0") {
		t.Error("a restart of the agent repairs a GPU")
	}
	r = openRecord(t, dir, "boot-2")
	wantHealth(t, r, gpu.Lost, gpu.Healthy)
	wantDue(t, r, start, "GPU-0")
	if !r.Repaired("GPU-0") {
		t.Error("a boot does not count")
	}
	r.Checked("GPU-0", nil, start)
	wantHealth(t, openRecord(t, dir, "boot-2"), gpu.Healthy, gpu.Healthy)
}

func TestADamagedRecordIsNotForgotten(t *testing.T) {
	for _, name := range []string{"gpu-health.json", "gpus.json"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := gpuhealth.Open(gpuhealth.Config{Dir: dir, Boot: "boot-1", Log: slog.Default()}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("opened: %v", err)
		}
	}
}

func TestAGPUOfWhichTheSourceSaysThatItIsWellAgainIsCheckedAtOnce(t *testing.T) {
	r := newRecord(t)
	r.Mark(said(gpu.Lost, gpu.Healthy), start)
	r.Checked("GPU-0", errors.New("no answer"), start)
	wantDue(t, r, start)
	wantHealth(t, r, gpu.Lost, gpu.Healthy) // the source says that it is well: that alone is not enough
	wantDue(t, r, start, "GPU-0")
}

func TestTasksEndWithTheGPUAlone(t *testing.T) {
	r := newRecord(t)
	ends := func(uuid string) <-chan error {
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		go func() { ended <- r.Watch(ctx, []string{uuid}) }()
		return ended
	}
	r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: 79}, both, start)
	if why := <-ends("GPU-0"); why == nil || !strings.Contains(why.Error(), "fallen off the bus") { // it starts on a GPU that is lost
		t.Errorf("ended: %v", why)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if why := r.Watch(ctx, []string{"GPU-1"}); why != nil {
		t.Errorf("a task of another GPU ends: %v", why)
	}
	r.Checked("GPU-0", nil, start)
	if why := r.Watch(ctx, []string{"GPU-0"}); why != nil {
		t.Errorf("a task of a mended GPU ends: %v", why)
	}
}

func TestAContainedErrorEndsTheTasksThatAreThereAndNoLater(t *testing.T) {
	r := newRecord(t)
	ended := make(chan error, 1)
	go func() { ended <- r.Watch(t.Context(), all) }()
	for len(ended) == 0 { // the watcher may come after the fault: then the next one is for it
		r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: 94}, both, start)
	}
	if why := <-ended; why == nil {
		t.Error("the task goes on")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if why := r.Watch(ctx, []string{"GPU-0"}); why != nil {
		t.Errorf("the next task ends: %v", why)
	}
}

func TestThreeTasksThatFailMakeAGPUSuspect(t *testing.T) {
	tasks := 0
	fail := func(definition string, elsewhere bool) gpuhealth.TaskEnd {
		tasks++
		return gpuhealth.TaskEnd{Workload: gpuhealth.Workload{TaskID: fmt.Sprint("t", tasks), Definition: definition, GPUs: []string{"GPU-0"}}, Failed: true, Elsewhere: elsewhere}
	}
	well := gpuhealth.TaskEnd{Workload: gpuhealth.Workload{TaskID: "t", Definition: "d", GPUs: []string{"GPU-0"}}}
	again := fail("a", true)
	tests := []struct {
		name string
		ends []gpuhealth.TaskEnd
		want gpu.Health
	}{
		{"three definitions", []gpuhealth.TaskEnd{fail("a", false), fail("b", false), fail("c", false)}, gpu.Suspect},
		{"one definition, which never works", []gpuhealth.TaskEnd{fail("a", false), fail("a", false), fail("a", false), fail("a", false)}, gpu.Healthy},
		{"one definition, which works elsewhere", []gpuhealth.TaskEnd{fail("a", true), fail("a", true), fail("a", true)}, gpu.Suspect},
		{"two definitions", []gpuhealth.TaskEnd{fail("a", false), fail("b", false), fail("a", false), fail("b", false)}, gpu.Healthy},
		{"one task, told three times", []gpuhealth.TaskEnd{again, again, again}, gpu.Healthy},
		{"a task between them that works", []gpuhealth.TaskEnd{fail("a", false), fail("b", false), well, fail("c", false)}, gpu.Healthy},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := newRecord(t)
			for _, end := range test.ends {
				r.AddTaskEnd(end, start)
			}
			wantHealth(t, r, test.want, gpu.Healthy)
			if test.want == gpu.Suspect {
				wantDue(t, r, start, "GPU-0")
				r.Checked("GPU-0", nil, start)
				r.AddTaskEnd(fail("d", false), start) // it begins anew
				wantHealth(t, r, gpu.Healthy, gpu.Healthy)
			}
		})
	}
}

func TestGPUsThatHaveLeftTheHostAreForgottenAtLast(t *testing.T) {
	dir := t.TempDir()
	r := openRecord(t, dir, "boot-1")
	r.Mark(said(gpu.Lost, gpu.Healthy), start)
	for i := range 200 {
		r.AddFault(gpu.Fault{UUID: fmt.Sprint("GPU-gone-", i), Xid: 79}, nil, start.Add(time.Duration(i)*time.Second))
	}
	wantHealth(t, r, gpu.Lost, gpu.Healthy)
	wantDue(t, r, start.Add(time.Hour), "GPU-0") // what is not here is not checked
	kept, err := os.ReadFile(filepath.Join(dir, "gpu-health.json"))
	if text := string(kept); err != nil || strings.Count(text, "GPU-") != 65 || strings.Contains(text, `"GPU-gone-0"`) || !strings.Contains(text, `"GPU-gone-199"`) {
		t.Errorf("kept are %s, %v", text, err)
	}
}
