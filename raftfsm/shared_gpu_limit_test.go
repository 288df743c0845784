package raftfsm

import (
	"testing"
	"time"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// A key with one GPU may have shares of one GPU in all, placed and waiting ones alike.
func TestSharesCountForTheirPartOfAGPU(t *testing.T) {
	h, one := sharedHistory(t), 1
	h.do(t, newKey("k", accesskey.Grant{MaxGPUs: &one}))
	ofKey := func(task *spec.Task) *spec.Task {
		task.Owner = &spec.TaskOwner{Key: "k"}
		return task
	}
	waits := ofKey(waiting("waits", 0))
	waits.Owner.GPUMilli = 250
	for i, run := range []*spec.Task{ofKey(sharing("a", "s1", "s1-gpu0", 400)), waits, ofKey(sharing("b", "s1", "s1-gpu1", 200, 150))} {
		if got := h.launch(t, Launch{Tasks: []*spec.Task{run}}); got.Err != nil || got.Conflict != "" {
			t.Fatalf("task %d: %v %s", i, got.Err, got.Conflict)
		}
	}
	if has := h.View().KeyTally("k"); has.GPUMilli != 1000 {
		t.Errorf("they count %+v", has)
	}
	wantLimit(t, h.launch(t, Launch{Tasks: []*spec.Task{ofKey(sharing("more", "s1", "s1-gpu2", 1))}}).Err, "may have 1 GPUs and has 1: 1 more are too many")
	h.report(t, "s1", spec.TaskReport{TaskID: "a", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(1)}})
	if got := h.launch(t, Launch{Tasks: []*spec.Task{ofKey(sharing("more", "s1", "s1-gpu2", 400))}}); got.Err != nil {
		t.Errorf("what another has given back is refused: %v", got.Err)
	}
	wantLimit(t, h.launch(t, Launch{Tasks: []*spec.Task{ofKey(task("whole", "s1", "s1-gpu0"))}}).Err, "may have 1 GPUs")
}

func TestTheTimeOfAShareIsItsPartOfAGPUs(t *testing.T) {
	h, hour := sharedHistory(t), time.Unix(1000*3600, 0)
	h.launch(t, Launch{Tasks: []*spec.Task{sharing("a", "s1", "s1-gpu0", 250, 250)}})
	h.report(t, "s1", spec.TaskReport{TaskID: "a", Status: spec.Stopped, Times: spec.TaskTimes{Started: hour, Stopped: hour.Add(10 * time.Minute)}})
	h.do(t, Reap{Before: hour.Add(time.Hour)})
	if usage := h.View().Usages(); len(usage) != 1 || len(usage[0].Hours) != 1 || usage[0].Hours[0].GPUSeconds != 300 {
		t.Errorf("%+v", usage)
	}
}
