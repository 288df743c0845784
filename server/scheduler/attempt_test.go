package scheduler

import (
	"errors"
	"testing"

	"pinion/raftfsm/spec"
	"pinion/server/id"
)

func TestOneTokenManyTimesInOneBatchStartsOneTask(t *testing.T) {
	s := newTestScheduler(t, 8)
	same := s.request(1)
	same.ClientToken, same.RequestHash = "t", "h1"
	other := same
	other.RequestHash = "h2"

	replies := s.runBatch([]spec.RunRequest{same, same, other, same})
	ids := make(map[string]bool)
	for _, i := range []int{0, 1, 3} {
		if replies[i].err != nil || len(replies[i].result.Tasks) != 1 {
			t.Fatalf("run %d: %+v", i, replies[i])
		}
		ids[replies[i].result.Tasks[0].ID] = true
	}
	if len(ids) != 1 {
		t.Errorf("one token started %d tasks", len(ids))
	}
	if !errors.Is(replies[2].err, spec.ErrClientTokenConflict) {
		t.Errorf("other parameters: %v", replies[2].err)
	}
	if n := len(s.node.state.View().Tasks("")); n != 1 {
		t.Errorf("%d tasks are recorded", n)
	}
}

func TestARunThatLostItsPlacesIsPlannedAgain(t *testing.T) {
	s := newTestScheduler(t, 2)
	request := s.request(1)
	request.ClientToken, request.RequestHash = "t", "h"
	taken := s.run(spec.RunRequest{Cluster: request.Cluster, Definition: request.Definition, Count: 1}).Tasks[0]

	// A plan from before the GPU was taken: recording it is refused, and the run is open again.
	late := *taken
	late.ID = id.New()
	l := &batchedRun{request: request}
	stale := &planPass{node: s.node, term: s.term.Load(), log: s.log, at: epoch, planned: []plannedRun{{batchedRun: l, tasks: []*spec.Task{&late}}}}
	if again, _ := stale.propose(); len(again) != 1 {
		t.Fatalf("a lost race left %d open: %+v", len(again), l.reply)
	}
	if open := s.planPass([]*batchedRun{l}); len(open) != 0 || len(l.reply.result.Tasks) != 1 || l.reply.result.Tasks[0].GPUs()[0] == taken.GPUs()[0] {
		t.Errorf("planned again: %d open, reply %+v", len(open), l.reply)
	}

	l.conflicts, l.request.ClientToken = maxPlanAttempts-1, ""
	if again, _ := stale.propose(); len(again) != 0 || !errors.Is(l.reply.err, spec.ErrUnavailable) {
		t.Errorf("a run that always loses: %d open, reply %v", len(again), l.reply.err)
	}
}
