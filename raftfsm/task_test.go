package raftfsm

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestStatusesAreRankedInTheOrderOfALife(t *testing.T) {
	life := []spec.Status{"", spec.Provisioning, spec.Pending, spec.Running, spec.Stopping, spec.Stopped}
	for i, status := range life {
		if status.Rank() != i-1 {
			t.Errorf("%q has rank %d", status, status.Rank())
		}
	}
}

func TestStopAsksTheHostAndSaysWhy(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	stop := StopTask{ID: "t1", Code: spec.StopUserInitiated, Reason: "enough", At: at(5)}
	got := h.do(t, stop).(*spec.Task)
	if got.DesiredStatus != spec.Stopped || got.LastStatus != spec.Running || !got.Times.Stopping.Equal(at(5)) || got.Version != 3 {
		t.Errorf("%+v", got)
	}
	if len(h.View().Free("h1").GPUs) != 3 {
		t.Error("a task that is asked to stop gave up its GPU")
	}
	stop.Reason = "again"
	if again := h.do(t, stop).(*spec.Task); again != got {
		t.Errorf("stopping twice changed it: %+v", again)
	}
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, StopCode: spec.StopEssentialExited, StoppedReason: "exited",
		Times: spec.TaskTimes{Stopping: at(6), Stopped: at(7)}})
	end := h.View().Task("t1")
	if end.StopCode != spec.StopUserInitiated || end.StoppedReason != "enough" || !end.Times.Stopping.Equal(at(5)) {
		t.Errorf("whoever stopped it says why: %s, %q at %v", end.StopCode, end.StoppedReason, end.Times.Stopping)
	}
	if len(h.View().Free("h1").GPUs) != 4 {
		t.Error("a STOPPED task holds its GPU")
	}
}

func TestAUserStopsWhatThePoolIsStopping(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1"))
	stop := func(code spec.StopCode, minute int) *spec.Task {
		return h.do(t, StopTask{ID: "t1", Code: code, At: at(minute)}).(*spec.Task)
	}
	stop(spec.StopScheduler, 1)
	if again := stop(spec.StopPreempted, 2); again.StopCode != spec.StopScheduler || again.Version != 3 {
		t.Errorf("the pool stopped it twice: %+v", again)
	}
	byUser := stop(spec.StopUserInitiated, 3)
	if byUser.StopCode != spec.StopUserInitiated || !byUser.Times.Stopping.Equal(at(1)) {
		t.Errorf("%+v", byUser)
	}
	if again := stop(spec.StopUserInitiated, 4); again != h.View().Task("t1") || again.Version != byUser.Version {
		t.Error("a user who stops it again changes it")
	}
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped})
	if over := stop(spec.StopUserInitiated, 5); over.Version != h.View().Task("t1").Version || over.LastStatus != spec.Stopped {
		t.Errorf("it was over: %+v", over)
	}
}

func TestAStopCanBeForcedLater(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1"))
	h.running(t, task("t2", "h1"))
	stop := func(id string, minute int, force bool) *spec.Task {
		return h.do(t, StopTask{ID: id, Code: spec.StopUserInitiated, Reason: "enough", At: at(minute), Force: force}).(*spec.Task)
	}
	if first := stop("t1", 1, false); first.ForceStop {
		t.Errorf("nobody forced it: %+v", first)
	}
	forced := stop("t1", 2, true)
	if !forced.ForceStop || !forced.Times.Stopping.Equal(at(1)) || forced.Version != 4 {
		t.Errorf("%+v", forced)
	}
	for _, force := range []bool{true, false} {
		if again := stop("t1", 3, force); again != h.View().Task("t1") || !again.ForceStop {
			t.Errorf("a later stop changes it: %+v", again)
		}
	}
	if at1 := stop("t2", 1, true); !at1.ForceStop || at1.DesiredStatus != spec.Stopped || at1.StoppedReason != "enough" {
		t.Errorf("forced at first: %+v", at1)
	}
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped})
	if over := stop("t1", 5, true); over.Version != h.View().Task("t1").Version {
		t.Errorf("it was over: %+v", over)
	}
}

func TestATaskWithoutAHostStopsAtOnce(t *testing.T) {
	h := newHistory(t)
	tx := h.begin()
	waiting := task("t1", "")
	waiting.LastStatus = spec.Provisioning
	tx.put(tableTasks, waiting) // what a capacity provider will do
	tx.commit()
	got := h.do(t, StopTask{ID: "t1", Code: spec.StopUserInitiated, At: at(5)}).(*spec.Task)
	if got.LastStatus != spec.Stopped || got.Containers[0].LastStatus != spec.Stopped || !got.Times.Stopped.Equal(at(5)) {
		t.Errorf("%+v", got)
	}
	if waiting.Containers[0].LastStatus != spec.Pending {
		t.Error("the object in the state was changed in place")
	}
}

func TestStopOfAnUnknownTask(t *testing.T) {
	h := newHistory(t)
	if _, err := h.try(t, StopTask{ID: "none"}); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestReapForgetsWhatStoppedLongAgo(t *testing.T) {
	h := newHistory(t)
	for i, id := range []string{"t0", "t1", "t2", "t3"} {
		h.running(t, task(id, "h1"))
		if i < 3 {
			h.report(t, "h1", spec.TaskReport{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(10 * (3 - i))}})
		}
	}
	if got := h.do(t, Reap{Before: at(21)}); got != 2 {
		t.Errorf("forgot %v", got)
	}
	if left := ids(h.View().Tasks("")); !slices.Equal(left, []string{"t0", "t3"}) {
		t.Errorf("left: %v", left)
	}
	before := h.snapshot(t)
	h.do(t, Reap{Before: at(21)})
	if !bytes.Equal(before, h.snapshot(t)) {
		t.Error("reaping nothing changed the state")
	}
}
