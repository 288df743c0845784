package raftfsm

import (
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestADeletedDefinitionIsForgottenWithItsLastTask(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	h.do(t, DeregisterDefinition{Name: "gpu:1", At: at(2)})
	got := h.do(t, DeleteDefinitions{Names: []string{"cpu:1", "gpu:1", "gpu:9", "gpu"}, At: at(3)}).([]*spec.TaskDefinition)
	if len(got) != 1 || got[0].Status != spec.DefinitionDeleting || !got[0].DeleteRequestedAt.Equal(at(3)) {
		t.Fatalf("%+v", got)
	}
	if again := h.do(t, DeregisterDefinition{Name: "gpu:1", At: at(4)}).(*spec.TaskDefinition); again != got[0] {
		t.Errorf("deregistered again: %+v", again)
	}
	h.do(t, Reap{Before: at(100)})
	if h.View().Definition("gpu:1") == nil || h.View().HasExpired(Reap{Before: at(100)}) {
		t.Fatal("forgotten while a task runs it")
	}
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(5)}})
	h.do(t, Reap{Before: at(6)})
	if left := h.View().Definitions(""); len(left) != 1 || left[0].Name() != "cpu:1" {
		t.Errorf("left: %v", left)
	}
	if next := h.do(t, RegisterDefinition{Definition: definition("gpu", "1")}).(*spec.TaskDefinition); next.Revision != 2 {
		t.Errorf("revision %d was used before", next.Revision)
	}
}

func TestADeletedDefinitionThatNobodyUsesIsForgottenAtOnce(t *testing.T) {
	h := newHistory(t)
	h.do(t, DeregisterDefinition{Name: "cpu:1", At: at(2)})
	h.do(t, DeleteDefinitions{Names: []string{"cpu:1"}, At: at(3)})
	if !h.View().HasExpired(Reap{Before: at(0)}) {
		t.Fatal("there is nothing to forget")
	}
	h.do(t, Reap{Before: at(0)})
	names := []string{}
	for _, d := range h.View().Definitions("") {
		names = append(names, d.Name())
	}
	if !slices.Equal(names, []string{"gpu:1"}) {
		t.Errorf("left: %v", names)
	}
}

func TestAnInactiveRevisionThatNoTaskRunsIsForgottenInTheEnd(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	h.do(t, DeregisterDefinition{Name: "gpu:1", At: at(2)})
	h.do(t, DeregisterDefinition{Name: "cpu:1", At: at(3)})
	if h.View().HasExpired(Reap{InactiveBefore: at(3)}) {
		t.Error("it is too early")
	}
	h.do(t, Reap{InactiveBefore: at(4)})
	if left := h.View().Definitions(""); len(left) != 1 || left[0].Name() != "gpu:1" {
		t.Fatalf("left: %v", left)
	}
	h.report(t, "h1", spec.TaskReport{TaskID: "t1", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(5)}})
	h.do(t, Reap{Before: at(6), InactiveBefore: at(4)})
	if left := h.View().Definitions(""); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if next := h.do(t, RegisterDefinition{Definition: definition("gpu", "1")}).(*spec.TaskDefinition); next.Revision != 2 {
		t.Errorf("revision %d was used before", next.Revision)
	}
}
