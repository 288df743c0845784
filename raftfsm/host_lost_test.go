package raftfsm

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestALostHostOffersNothingUntilItIsBack(t *testing.T) {
	h := newHistory(t)
	if lost := h.do(t, MarkHostLost{ID: "h1", At: at(2)}).(*spec.Host); !lost.Lost() || !lost.LostAt.Equal(at(2)) || lost.Revision != 2 {
		t.Errorf("%+v", lost)
	}
	if free := h.View().Free("h1"); free.CPU != 0 || free.MemoryMiB != 0 || len(free.GPUs) != 0 {
		t.Errorf("offered: %+v", free)
	}
	nothing := task("t1", "h1")
	nothing.CPU, nothing.MemoryMiB = 0, 0
	if got := h.launch(t, Launch{Tasks: []*spec.Task{nothing}}); len(got.Refused) != 1 || got.Conflict != "host h1 is lost" {
		t.Errorf("a task that needs nothing: %+v", got)
	}
	before := h.snapshot(t)
	h.do(t, MarkHostLost{ID: "h1", At: at(3)})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("losing it again changed something")
	}
	back := hostWith("h1", 4)
	back.LostAt = at(9) // not the host's to say
	if put := h.do(t, PutHost{back}).(*spec.Host); put.Lost() || put.Revision != 3 || len(h.View().Free("h1").GPUs) != 4 {
		t.Errorf("back: %+v", put)
	}
	if _, err := h.try(t, MarkHostLost{ID: "none"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("unknown: %v", err)
	}
}

func TestWhatALostHostRanIsDeclaredStopped(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("ran", "h1", "h1-gpu0"))
	h.launch(t, Launch{Tasks: []*spec.Task{task("waited", "h1", "h1-gpu1")}})
	h.running(t, task("was asked to stop", "h1"))
	h.do(t, StopTask{ID: "was asked to stop", Code: spec.StopUserInitiated, Reason: "enough", At: at(2)})
	h.do(t, MarkHostLost{ID: "h1", At: at(3), Reason: "host h1 was lost for 60s"})
	want := []struct {
		id       string
		code     spec.StopCode
		reason   string
		stopping int
	}{
		{"ran", spec.StopEssentialExited, "host h1 was lost for 60s", 3},
		{"waited", spec.StopFailedToStart, "host h1 was lost for 60s", 3},
		{"was asked to stop", spec.StopUserInitiated, "enough", 2},
	}
	for _, w := range want {
		got := h.View().Task(w.id)
		if got.LastStatus != spec.Stopped || got.DesiredStatus != spec.Stopped || got.Containers[0].LastStatus != spec.Stopped ||
			!got.Times.Stopped.Equal(at(3)) || !got.Times.Stopping.Equal(at(w.stopping)) {
			t.Errorf("%s: %+v", w.id, got)
		}
		if got.StopCode != w.code || got.StoppedReason != w.reason {
			t.Errorf("%s: %s, %q", w.id, got.StopCode, got.StoppedReason)
		}
	}
	if assigned, _ := h.View().Assignments("h1"); len(assigned) != 0 {
		t.Errorf("%d tasks are still assigned", len(assigned))
	}
}

func TestAHostThatReturnsIsToldWhatToStop(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	h.do(t, MarkHostLost{ID: "h1", At: at(2)})
	if got := h.View().Task("t1").StoppedReason; got != "host h1 was lost" {
		t.Errorf("the reason is %q", got)
	}
	h.do(t, PutHost{hostWith("h1", 4)})
	before := h.snapshot(t)
	if told := h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Running}); !slices.Equal(told, []string{"t1"}) {
		t.Errorf("it is told to stop %v", told)
	}
	if told := h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped}); len(told) != 0 {
		t.Errorf("after it did it is told %v", told)
	}
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("a STOPPED task changed")
	}
}

func TestAKeptTaskOutlastsTheLossOfItsHost(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("patient", "h1", "h1-gpu0"))
	h.running(t, task("hasty", "h1", "h1-gpu1"))
	h.do(t, MarkHostLost{ID: "h1", At: at(2), Keep: []string{"patient"}})
	if v := h.View(); v.Task("patient").LastStatus != spec.Running || v.Task("hasty").LastStatus != spec.Stopped || len(v.Free("h1").GPUs) != 0 {
		t.Error("after the loss")
	}
	h.do(t, PutHost{hostWith("h1", 4)})
	if free := h.View().Free("h1").GPUs; !slices.Equal(free, []string{"h1-gpu1", "h1-gpu2", "h1-gpu3"}) {
		t.Errorf("back with its task it offers %v", free)
	}
	h.do(t, MarkHostLost{ID: "h1", At: at(3), Keep: []string{"patient"}})
	if lost := h.do(t, MarkHostLost{ID: "h1", At: at(9)}).(*spec.Host); !lost.LostAt.Equal(at(3)) || h.View().Task("patient").LastStatus != spec.Stopped {
		t.Error("its patience never ended")
	}
}
