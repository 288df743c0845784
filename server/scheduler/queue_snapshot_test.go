package scheduler

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// A reader works on its own: neither the planner nor the queue controller waits for it, nor it for a plan.
func TestAReaderOfTheQueueHoldsUpNoPlacement(t *testing.T) {
	s := newTestScheduler(t, 1)
	request := queued(s.request(1))
	placed := func(id string) bool { return s.node.state.View().Task(id).HostID != "" }
	first := s.run(request).Tasks[0]
	s.until(func() bool { return placed(first.ID) })
	second := s.run(request).Tasks[0] // of two that wait at one moment the one with the lower id is first

	reading, err := s.queueSnapshot(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	s.apply(raftfsm.StopTask{ID: first.ID, At: epoch})
	s.apply(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: first.ID, Status: spec.Stopped}}})
	s.until(func() bool { return placed(second.ID) }) // while the reader has not sorted its list yet
	if list := reading.list(""); len(list) != 1 || list[0].TaskID != second.ID || list[0].Position != 1 {
		t.Errorf("the queue of the moment of the question: %+v", list)
	}

	third := s.run(request).Tasks[0]
	e, err := s.explanation(t.Context(), third.ID)
	if err != nil {
		t.Fatal(err)
	}
	planning := s.planner().begin() // a round that takes its time
	s.askHosts(e)
	planning.discard()
	if len(e.Hosts) != 1 || e.Hosts[0].Reason != spec.ReasonGPU || len(e.Blockers) != 1 || e.Blockers[0].TaskID != second.ID {
		t.Errorf("%+v", e)
	}
}

// until waits for a change of the state that makes it so.
func (s *testScheduler) until(is func() bool) {
	s.Helper()
	position := raftfsm.PositionAfter(s.node.state.View().Index())
	for !is() {
		changes, changed, err := s.node.state.Changes(position, 1000)
		if err != nil {
			s.Fatal(err)
		}
		if len(changes) > 0 {
			position = changes[len(changes)-1].Position
			continue
		}
		select {
		case <-changed:
		case <-s.Context().Done():
			s.Fatal("it never was so")
		}
	}
}
