package raftfsm

import (
	"bytes"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// Whoever keeps ended tasks has to know whether some went meanwhile: the state remembers the entry that removed the last ones, in its
// snapshots too.
func TestTheStateKnowsWhenTasksWereReaped(t *testing.T) {
	h := newHistory(t)
	hour := time.Unix(1000*3600, 0)
	ended(t, h, "a", "vision", hour, hour.Add(time.Minute))
	h.do(t, Reap{Before: hour})
	if at := h.View().Reaped(); at != 0 {
		t.Errorf("nothing was reaped, and entry %d is said to have", at)
	}
	h.do(t, Reap{Before: hour.Add(time.Hour)})
	reaped := h.View().Index()
	if at := h.View().Reaped(); at != reaped || h.View().Task("a") != nil {
		t.Errorf("entry %d, not %d", at, reaped)
	}
	ended(t, h, "b", "vision", hour, hour.Add(3*time.Hour))
	var text bytes.Buffer
	if err := h.View().WriteSnapshot(&text); err != nil {
		t.Fatal(err)
	}
	restored := NewState()
	if err := restored.Restore(&text); err != nil {
		t.Fatal(err)
	}
	if at := restored.View().Reaped(); at != reaped || restored.View().Index() <= reaped {
		t.Errorf("restored: entry %d, not %d", at, reaped)
	}
}

// The leader asks each minute whether something has expired, however many tasks there are: Reap reads the stopped ones in the order of their
// ends, up to the first that it keeps. What comes behind it is altered here under the index, so that whoever reads it deletes it.
func TestReapReadsNoTaskBehindTheFirstThatItKeeps(t *testing.T) {
	h := newHistory(t)
	hour := time.Unix(1000*3600, 0)
	for n, id := range []string{"old", "kept", "behind"} {
		ended(t, h, id, "vision", hour, hour.Add(time.Duration(n)*time.Hour))
	}
	h.running(t, &spec.Task{ID: "runs", HostID: "h1", Cluster: spec.DefaultCluster, Definition: "cpu:1", LastStatus: spec.Pending, DesiredStatus: spec.Running})
	for _, id := range []string{"behind", "runs"} {
		task := h.View().Task(id)
		task.LastStatus, task.Times.Stopped = spec.Stopped, hour.Add(-time.Hour)
	}
	reap := Reap{Before: hour.Add(time.Minute)}
	if !h.View().HasExpired(reap) {
		t.Error("a task that ended before is not seen to have expired")
	}
	if deleted := h.do(t, reap); deleted != 1 || h.View().Task("old") != nil {
		t.Errorf("%v tasks are deleted, not the old one alone", deleted)
	}
	if h.View().HasExpired(reap) {
		t.Error("tasks behind the first that is kept were read")
	}
}
