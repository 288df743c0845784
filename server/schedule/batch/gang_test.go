package batch

import (
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// stops names the tasks of gang g that have to stop.
func (h *history) stops() (names, reason string) {
	tasks, reason := GangStops(h.View(), "g")
	for _, t := range tasks {
		names += t.ID + " "
	}
	return strings.TrimSpace(names), reason
}

func TestAllTasksOfAGangStopWhenOneFails(t *testing.T) {
	cases := []struct {
		name        string
		end         func(*history)
		stop, names string // who stops, and what the reason says
	}{
		{"all run", func(h *history) { h.runs("r0", "r1", "r2") }, "", ""},
		{"one fails", func(h *history) { h.exits("r1", 9, 10) }, "r0 r2", "Rank 1 of the gang (task r1) ended, and all end with it: Essential container in task exited (exit code 9)"},
		{"one succeeds", func(h *history) { h.exits("r1", 0, 10) }, "", ""},
		{"a user stops one", func(h *history) { h.stop(spec.StopUserInitiated, "r2") }, "r0 r1", "Rank 2 of the gang (task r2) ended, and all end with it: because"},
		{"one gives way", func(h *history) { h.stop(spec.StopPreempted, "r2") }, "r0 r1", "Rank 2"},
		{"one was lost", func(h *history) { h.runs("r1"); h.gone("r1") }, "r0 r2", "Rank 1"},
		{"two fail, the one that was first counts", func(h *history) { h.exits("r1", 9, 20); h.exits("r2", 8, 10) }, "r0", "Rank 2 of the gang (task r2) ended, and all end with it: Essential container in task exited (exit code 8)"},
		{"one fails after others succeeded", func(h *history) { h.exits("r0", 0, 10); h.exits("r2", 1, 20) }, "r1", "Rank 2"},
		{"who is stopped for it is no reason", func(h *history) { h.exits("r2", 1, 20); h.stop(spec.StopScheduler, "r0"); h.exits("r0", 143, 10) }, "r1", "Rank 2"},
		{"one reaches its time limit", func(h *history) { h.runs("r0", "r1", "r2"); h.timesOut("r1") }, "r0 r2", "Rank 1 of the gang (task r1) ended, and all end with it: The task reached its time limit of 30m0s"},
		{"one is about to fail", func(h *history) { h.stopping("r1", 3) }, "r0 r2", "Rank 1 of the gang (task r1) ended, and all end with it: EssentialContainerExited (exit code 3)"},
		{"one is about to succeed", func(h *history) { h.stopping("r1", 0) }, "", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHistory(t)
			h.gang(3)
			c.end(h)
			if names, reason := h.stops(); names != c.stop || !strings.HasPrefix(reason, c.names) {
				t.Errorf("%q stop: %q", names, reason)
			}
		})
	}
}

// timesOut has the host of a task begin to stop it at its time limit.
func (h *history) timesOut(id string) {
	h.t.Helper()
	h.report(spec.TaskReport{TaskID: id, Status: spec.Stopping, StopCode: spec.StopScheduler, StoppedReason: spec.TimeLimitReason(30 * time.Minute),
		Times: spec.TaskTimes{Stopping: at(1800)}})
}

// stopping has the essential container of a task exit while the other one goes on.
func (h *history) stopping(id string, code int) {
	h.t.Helper()
	h.runs(id)
	h.report(spec.TaskReport{TaskID: id, Status: spec.Stopping, StopCode: spec.StopEssentialExited,
		Containers: []spec.ContainerReport{{Name: "main", ExitCode: &code}}})
}

func TestAGangIsDoneAgainAsAWhole(t *testing.T) {
	h := newHistory(t)
	h.gang(3, tag("retries", "1"))
	h.exits("r2", 0, 5)
	h.exits("r1", 9, 10)
	if again := h.again("r1"); len(again) != 0 {
		t.Fatalf("before all of it is over: %v", again)
	}
	h.stop(spec.StopScheduler, "r0")
	h.exits("r0", 143, 20)
	again := h.again("r0")
	if len(again) != 3 {
		t.Fatalf("%v", again)
	}
	for rank, task := range again {
		if seat := task.Gang; seat.Rank != rank || seat.Size != 3 || seat.ID == "g" || seat.ID != again[0].Gang.ID || seat.Port != 0 {
			t.Errorf("rank %d sits on %+v", rank, seat)
		}
		if len(task.Ports) != 0 || task.Failed != 1 || !task.Queue.NotBefore.Equal(at(101)) {
			t.Errorf("rank %d: %+v", rank, task)
		}
	}
	if more := h.again("r1"); len(more) != 0 {
		t.Errorf("once more: %v", more)
	}
}

func TestAGangIsNotDoneAgainWhenAUserEndedIt(t *testing.T) {
	h := newHistory(t)
	h.gang(2, tag("retries", "5"))
	h.stop(spec.StopUserInitiated, "r1")
	h.stop(spec.StopScheduler, "r0")
	h.exits("r0", 143, 60)
	h.exits("r1", 143, 61)
	if again := h.again("r0"); len(again) != 0 {
		t.Errorf("%v", again)
	}
}

func TestAGangThatSucceededIsOver(t *testing.T) {
	h := newHistory(t)
	h.gang(2, tag("retries", "5"))
	h.exits("r0", 0, 10)
	h.exits("r1", 0, 11)
	if names, _ := h.stops(); names != "" || len(h.again("r1")) != 0 {
		t.Errorf("%q stop", names)
	}
}
