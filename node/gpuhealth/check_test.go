package gpuhealth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
)

// A machine whose clock was ahead, and is right after a boot, checks its GPUs now and not at the time that it had thought it was.
func TestAClockThatWasAheadDelaysNoCheck(t *testing.T) {
	dir := t.TempDir()
	openRecord(t, dir, "boot-1").AddFault(gpu.Fault{UUID: "GPU-0", Xid: 119}, both, start.Add(365*24*time.Hour))
	r := openRecord(t, dir, "boot-2")
	r.Mark(said(gpu.Healthy, gpu.Healthy), start)
	wantDue(t, r, start, "GPU-0")
}

func TestChecksThatFailBecomeRare(t *testing.T) {
	r := newRecord(t)
	r.Mark(said(gpu.Lost, gpu.Healthy), start)
	now := start
	for range 40 {
		r.Checked("GPU-0", errors.New("no answer"), now)
	}
	if _, next := r.Due(now); !next.Equal(now.Add(10 * time.Minute)) {
		t.Errorf("after 40 checks the next is in %v", next.Sub(now))
	}
}

func TestAnOperatorHasAnyGPUChecked(t *testing.T) {
	r := newRecord(t)
	r.Mark(said(gpu.Replace, gpu.Healthy), start)
	r.Request("GPU-0", true, start)
	r.Request("GPU-1", false, start)
	wantHealth(t, r, gpu.Replace, gpu.Suspect)
	wantDue(t, r, start, "GPU-0", "GPU-1")
	if !r.StartCheck("GPU-0") || r.StartCheck("GPU-1") {
		t.Error("the wrong GPU is reset")
	}
	wantOutcome := func(uuid string, want gpu.CheckOutcome, asked bool) {
		t.Helper()
		if got, ok := r.Outcome(uuid); got != want || ok != asked {
			t.Errorf("outcome for %s: %+v %v, want %+v %v", uuid, got, ok, want, asked)
		}
	}
	wantOutcome("GPU-0", gpu.CheckOutcome{}, true)
	wantOutcome("GPU-2", gpu.CheckOutcome{}, false)
	r.Checked("GPU-0", errors.New("no answer"), start)
	r.Checked("GPU-1", nil, start)
	wantOutcome("GPU-0", gpu.CheckOutcome{Done: true, Problem: "no answer"}, true)
	wantOutcome("GPU-1", gpu.CheckOutcome{Done: true}, true)
	wantHealth(t, r, gpu.Replace, gpu.Healthy)
	wantDue(t, r, start.Add(time.Minute)) // once
	if r.StartCheck("GPU-0") {
		t.Error("a reset that did not help is made again")
	}
}

// What an operator has asked for is carried out and answered, whatever else happens to the GPU before.
func TestAFaultForgetsNoRequest(t *testing.T) {
	r := newRecord(t)
	r.Mark(said(gpu.Healthy, gpu.Healthy), start)
	r.Request("GPU-0", true, start)
	r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: 48}, both, start.Add(time.Second))
	if wantDue(t, r, start.Add(time.Second), "GPU-0"); !r.StartCheck("GPU-0") {
		t.Error("the reset is forgotten")
	}
	r.Checked("GPU-0", nil, start.Add(time.Minute))
	if got, _ := r.Outcome("GPU-0"); got != (gpu.CheckOutcome{Done: true}) {
		t.Errorf("who has asked is told %+v", got)
	}
}

// A check says nothing of a fault that came after it began: the GPU is checked once more, when the driver has recorded the fault.
func TestAFaultDuringACheckOutlivesIt(t *testing.T) {
	for name, xids := range map[string][2]uint64{"a worse one": {119, 79}, "a lesser one": {79, 119}} {
		t.Run(name, func(t *testing.T) {
			r := newRecord(t)
			r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: xids[0]}, both, start)
			r.Mark(said(gpu.Healthy, gpu.Healthy), start)
			r.Request("GPU-0", false, start)
			r.StartCheck("GPU-0")
			again := start.Add(31 * time.Second)
			r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: xids[1]}, both, again)
			r.Checked("GPU-0", nil, again.Add(time.Second))
			wantHealth(t, r, gpu.Lost, gpu.Healthy)
			if got, _ := r.Outcome("GPU-0"); !got.Done || !strings.Contains(got.Problem, "another fault during the check") {
				t.Errorf("who has asked for the check is told %+v", got)
			}
			wantDue(t, r, again.Add(30*time.Second), "GPU-0")
			r.StartCheck("GPU-0")
			r.Checked("GPU-0", nil, again.Add(time.Minute))
			wantHealth(t, r, gpu.Healthy, gpu.Healthy)
		})
	}
}

// A reset that is asked for while the GPU is checked is made, and answered, by the next check.
func TestARequestDuringACheckIsForTheNext(t *testing.T) {
	for _, found := range []error{nil, errors.New("no answer")} {
		r := newRecord(t)
		r.AddFault(gpu.Fault{UUID: "GPU-0", Xid: 79}, both, start)
		r.Mark(said(gpu.Healthy, gpu.Healthy), start)
		r.StartCheck("GPU-0")
		r.Request("GPU-0", true, start)
		r.Checked("GPU-0", found, start)
		if got, _ := r.Outcome("GPU-0"); got.Done {
			t.Errorf("a check without the reset is the answer: %+v", got)
		}
		if wantDue(t, r, start, "GPU-0"); !r.StartCheck("GPU-0") {
			t.Error("the reset is forgotten")
		}
		r.Checked("GPU-0", nil, start)
		if got, _ := r.Outcome("GPU-0"); got != (gpu.CheckOutcome{Done: true}) {
			t.Errorf("%+v", got)
		}
	}
}

// A GPU that goes before the check that was asked for is not waited for.
func TestACheckOfAGPUThatIsGoneIsAnswered(t *testing.T) {
	r := newRecord(t)
	r.Mark(said(gpu.Healthy, gpu.Healthy), start)
	r.Request("GPU-1", false, start)
	one := gpu.Inventory{Devices: said(gpu.Healthy, gpu.Healthy).Devices[:1]}
	r.Mark(one, start.Add(time.Second))
	r.Mark(gpu.Inventory{Problem: "the driver hangs"}, start.Add(time.Hour))
	if got, _ := r.Outcome("GPU-1"); got.Done {
		t.Errorf("it may come back: %+v", got)
	}
	r.Mark(one, start.Add(time.Hour))
	if got, _ := r.Outcome("GPU-1"); !got.Done || !strings.Contains(got.Problem, "has not listed it") {
		t.Errorf("%+v", got)
	}
}
