package raftfsm

import (
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskupdate"
)

// pendingHistory has "a" and "b" waiting, a gang of "g0" and "g1" waiting, and "r" on GPU 0 of h1.
func pendingHistory(t *testing.T) *history {
	h := newHistory(t)
	tasks := []*spec.Task{waiting("a", 1), waiting("b", 1), waiting("g0", 1), waiting("g1", 1)}
	for rank, t := range tasks[2:] {
		t.Gang = &spec.GangMember{ID: "g", Rank: rank, Size: 2}
	}
	h.launch(t, Launch{Tasks: tasks})
	h.running(t, task("r", "h1", "h1-gpu0"))
	return h
}

// refusals are the answers to a change of tasks.
func (h *history) refusals(t *testing.T, c Command) []string {
	t.Helper()
	return h.do(t, c).([]string)
}

func holdBy(who string, admin bool, ids ...string) EditTasks {
	return EditTasks{ids, taskupdate.Update{Hold: &spec.TaskHold{By: iam.OwnerARN(who), At: at(5), Admin: admin}}}
}

func release(admin bool, ids ...string) EditTasks {
	return EditTasks{ids, taskupdate.Update{Release: &taskupdate.Release{Admin: admin}}}
}

func TestAHeldTaskIsNotPlacedUntilItIsReleased(t *testing.T) {
	h := pendingHistory(t)
	if got := h.refusals(t, holdBy("anna", false, "a", "r", "x")); got[0] != "" || !strings.Contains(got[1], "RUNNING") || got[2] != spec.ReasonMissing {
		t.Errorf("%q", got)
	}
	place := PlaceTasks{[][]spec.Placement{{{TaskID: "a", HostID: "h1", GPUs: [][]string{{"h1-gpu2"}}}}}}
	if got := h.refusals(t, place); !strings.Contains(got[0], "held by anna") {
		t.Errorf("a task that is held was placed: %q", got)
	}
	before := h.View().Task("a")
	if h.refusals(t, holdBy("berta", false, "a")); h.View().Task("a") != before || before.Version != 2 {
		t.Errorf("held again: %+v", h.View().Task("a"))
	}
	if got := h.refusals(t, release(false, "a", "b")); got[0] != "" || got[1] != "" || h.View().Task("a").Hold != nil {
		t.Errorf("%q", got)
	}
	if got := h.refusals(t, place); got[0] != "" {
		t.Errorf("%q", got)
	}
}

func TestWhatAnAdministratorHoldsOnlyOneReleases(t *testing.T) {
	h := pendingHistory(t)
	h.do(t, holdBy("anna", false, "a"))
	h.do(t, holdBy("root", true, "a"))
	if got := h.refusals(t, release(false, "a")); !strings.Contains(got[0], "root") || h.View().Task("a").Hold == nil {
		t.Errorf("%q", got)
	}
	h.do(t, holdBy("anna", false, "a"))
	if got := h.refusals(t, release(true, "a")); got[0] != "" || h.View().Task("a").Held() {
		t.Errorf("%q", got)
	}
}

func TestAGangChangesAsAWhole(t *testing.T) {
	h := pendingHistory(t)
	h.do(t, holdBy("anna", false, "g1"))
	h.do(t, EditTasks{[]string{"g0"}, taskupdate.Update{Priority: new(70)}})
	for _, id := range []string{"g0", "g1"} {
		if task := h.View().Task(id); !task.Held() || task.SchedulingOptions().Priority != 70 {
			t.Errorf("%+v", task)
		}
	}
	h.do(t, StopTask{ID: "g1", Code: spec.StopUserInitiated, At: at(6)})
	if got := h.refusals(t, EditTasks{[]string{"g0"}, taskupdate.Update{Priority: new(80)}}); got[0] == "" || h.View().Task("g0").SchedulingOptions().Priority != 70 {
		t.Errorf("half of a gang was changed: %q", got)
	}
}

func TestARequeuedTaskStopsAsOneThatGaveWay(t *testing.T) {
	h := pendingHistory(t)
	h.running(t, task("s", "h1", "h1-gpu1"))
	h.do(t, StopTask{ID: "s", Code: spec.StopUserInitiated, At: at(6)})
	got := h.refusals(t, EditTasks{[]string{"r", "a", "s", "x"}, taskupdate.Update{Requeue: &taskupdate.Requeue{Reason: "Requeued by anna", At: at(7)}}})
	if got[0] != "" || slices.Contains(got[1:], "") {
		t.Errorf("%q", got)
	}
	if r := h.View().Task("r"); r.DesiredStatus != spec.Stopped || r.StopCode != spec.StopPreempted || r.StoppedReason != "Requeued by anna" {
		t.Errorf("%+v", r)
	}
	if s := h.View().Task("s"); s.StopCode != spec.StopUserInitiated {
		t.Errorf("who stopped it does not want it back: %+v", s)
	}
	before := h.View().Task("r")
	if got := h.refusals(t, EditTasks{[]string{"r"}, taskupdate.Update{Requeue: &taskupdate.Requeue{Reason: "again", At: at(8)}}}); got[0] != "" || h.View().Task("r") != before {
		t.Errorf("%q", got)
	}
}
