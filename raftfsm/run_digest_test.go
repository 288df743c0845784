package raftfsm

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/spec"
)

// ofRun makes the tasks those of one run.
func ofRun(tasks ...*spec.Task) []*spec.Task {
	for _, task := range tasks {
		task.Run = tasks[0].ID
	}
	return tasks
}

// resolved is the report of a host that found a digest for its task.
func resolved(id, digest string, status spec.Status) spec.TaskReport {
	report := spec.TaskReport{TaskID: id, Status: status, Containers: []spec.ContainerReport{{Name: "main", Status: spec.Pending, ImageDigest: digest}}}
	if status == spec.Stopped {
		report.Times.Stopped = at(1)
	}
	return report
}

func TestTheFirstTaskOfARunDecidesTheDigest(t *testing.T) {
	h := newHistory(t)
	h.do(t, PutHost{hostWith("h2", 1)})
	h.launch(t, Launch{Tasks: ofRun(task("t1", "h1"), task("t2", "h2"), task("t3", "h1"), waiting("t4", 0))})
	h.launch(t, Launch{Tasks: []*spec.Task{task("alone", "h1")}})
	h.report(t, "h2", resolved("t2", "sha256:first", spec.Pending))
	h.report(t, "h1", resolved("t1", "sha256:second", spec.Pending), resolved("alone", "sha256:second", spec.Pending))
	_, changed := h.View().Assignments("h1")
	h.report(t, "h1", resolved("t3", "sha256:second", spec.Stopped))
	select {
	case <-changed:
	default:
		t.Error("the host is not told")
	}
	h.do(t, PlaceTasks{Groups: [][]spec.Placement{{{TaskID: "t4", HostID: "h1"}}}})
	for id, want := range map[string]string{"t1": "first", "t2": "first", "t3": "first", "t4": "first", "alone": "second"} {
		if digest := h.View().Task(id).ImageDigest("main"); digest != "sha256:"+want {
			t.Errorf("%s has %q", id, digest)
		}
	}
}

// TestNoRunHasTwoDigests draws what the tasks of a run go through: whatever their hosts find, and whichever of them are forgotten, no two
// have different digests, from the first that was resolved to the end of the last.
func TestNoRunHasTwoDigests(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHistory(t)
		var tasks []*spec.Task
		for i := range rapid.IntRange(2, 6).Draw(r, "tasks") {
			task := task(fmt.Sprint("t", i), "h1")
			if rapid.Bool().Draw(r, "waits") {
				task = waiting(task.ID, 0)
			}
			tasks = append(tasks, task)
		}
		h.launch(t, Launch{Tasks: ofRun(tasks...)})
		decided := ""
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			id := tasks[rapid.IntRange(0, len(tasks)-1).Draw(r, "task")].ID
			switch rapid.IntRange(0, 3).Draw(r, "step") {
			case 0:
				h.do(t, Reap{Before: at(5)})
			case 1:
				h.do(t, PlaceTasks{Groups: [][]spec.Placement{{{TaskID: id, HostID: "h1"}}}})
			default:
				status := pick(r, spec.Pending, spec.Running, spec.Stopped)
				h.report(t, "h1", resolved(id, pick(r, "", "sha256:a", "sha256:b"), status))
			}
			for _, task := range h.View().Tasks("") {
				if digest := task.ImageDigest("main"); digest != "" && decided != "" && digest != decided {
					r.Fatalf("%s has %s, others of its run have had %s", task.ID, digest, decided)
				} else if digest != "" {
					decided = digest
				}
			}
		}
	})
}
