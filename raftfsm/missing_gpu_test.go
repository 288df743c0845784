package raftfsm

import (
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

func TestAGPUThatVanishesUnderItsTaskStaysOnRecord(t *testing.T) {
	h := newHistory(t)
	held := hostWith("h1", 4).GPUs.Devices[3].UUID
	h.running(t, task("t1", "h1", held))
	fewer := h.do(t, PutHost{hostWith("h1", 2)}).(*spec.Host)
	if len(fewer.GPUs.Devices) != 3 {
		t.Fatalf("%d devices on record, want the two that are there and the one that is held", len(fewer.GPUs.Devices))
	}
	gone, _ := fewer.GPUs.Device(held)
	if gone.Health != gpu.Unhealthy || !strings.Contains(gone.Problem, "t1") {
		t.Errorf("it is %s: %q", gone.Health, gone.Problem)
	}
	if again := h.do(t, PutHost{hostWith("h1", 2)}).(*spec.Host); again.Revision != fewer.Revision {
		t.Error("saying the same again changed the host")
	}
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(2)}})
	if last := h.do(t, PutHost{hostWith("h1", 2)}).(*spec.Host); len(last.GPUs.Devices) != 2 {
		t.Errorf("nobody holds it, but %d devices are on record", len(last.GPUs.Devices))
	}
}
