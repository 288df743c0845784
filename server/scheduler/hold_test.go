package scheduler

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskupdate"
)

// A task that is held lets others past, says who holds it, and starts when it is released.
func TestAHeldTaskWaitsForItsRelease(t *testing.T) {
	s := newTestScheduler(t, 1)
	placed := func(id string) bool { return s.node.state.View().Task(id).HostID != "" }
	first := s.run(queued(s.request(1))).Tasks[0]
	s.until(func() bool { return placed(first.ID) })
	held, other := s.run(queued(s.request(1))).Tasks[0], s.run(queued(s.request(1))).Tasks[0]
	s.apply(raftfsm.EditTasks{IDs: []string{held.ID}, Edit: taskupdate.Update{Hold: &spec.TaskHold{By: iam.OwnerARN("anna"), At: epoch, Reason: "data"}}})
	s.apply(raftfsm.EditTasks{IDs: []string{held.ID}, Edit: taskupdate.Update{Priority: new(90)}})
	list, err := s.Queue(t.Context(), "")
	if err != nil || len(list) != 2 || list[0].TaskID != other.ID || list[1].Position != 0 || !strings.HasPrefix(list[1].WaitReason, "its release: data (held by anna") {
		t.Fatalf("%+v, %v", list, err)
	}
	if e, err := s.Explain(t.Context(), held.ID); err != nil || !strings.Contains(e.Summary, "held by anna since") || len(e.Hosts) != 0 {
		t.Errorf("%+v, %v", e, err)
	}
	end := func(id string) {
		s.apply(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: id, Status: spec.Stopped}}})
	}
	end(first.ID)
	s.until(func() bool { return placed(other.ID) })
	end(other.ID)
	s.apply(raftfsm.EditTasks{IDs: []string{held.ID}, Edit: taskupdate.Update{Release: &taskupdate.Release{}}})
	s.until(func() bool { return placed(held.ID) })
}

// The priority that counts is the one of the moment, not that of the run.
func TestATaskWithAnotherPriorityChangesItsPosition(t *testing.T) {
	s := newTestScheduler(t, 1)
	first := s.run(queued(s.request(1))).Tasks[0]
	s.until(func() bool { return s.node.state.View().Task(first.ID).HostID != "" })
	older, newer := s.run(queued(s.request(1))).Tasks[0], s.run(queued(s.request(1))).Tasks[0]
	s.apply(raftfsm.EditTasks{IDs: []string{newer.ID}, Edit: taskupdate.Update{Priority: new(90)}})
	list, err := s.Queue(t.Context(), "")
	if err != nil || len(list) != 2 || list[0].TaskID != newer.ID || list[0].Priority != 90 || list[1].TaskID != older.ID {
		t.Errorf("%+v, %v", list, err)
	}
}
