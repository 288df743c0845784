package server

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// startFrozen is a server whose clock stands, so that no host falls silent however slow the test is.
func startFrozen(t *testing.T) *Server {
	var c clock
	cfg := config(t.TempDir())
	cfg.Now = c.now
	return start(t, cfg)
}

// planOne plans one run on the term's planner, and records nothing of it.
func planOne(t *testing.T, s *Server, r spec.RunRequest) (schedule.Decision, *inFlightPlan) {
	t.Helper()
	definition := view(t, s).Definition(r.Definition)
	decisions, f := s.leaderTerm.Load().planner.plan(func(*raftfsm.View, []*inFlightPlan) []schedule.Request {
		return []schedule.Request{{Run: r, Definition: definition, IDs: newID, At: s.cfg.Now()}}
	})
	return decisions[0], f
}

func TestWhatIsBeingRecordedIsPlannedOn(t *testing.T) {
	s := startFrozen(t)
	joinWith(t, s, 2)
	request, planner := runOf(define(t, s, 1)), s.leaderTerm.Load().planner

	_, first := planOne(t, s, request)
	_, second := planOne(t, s, request)
	if d, f := planOne(t, s, request); len(d.Tasks) != 0 || d.Failures[0].Reason != spec.ReasonGPU {
		t.Errorf("both GPUs are under way, and a third task gets %+v", d)
	} else {
		planner.resolve(f, f.tasks)
	}
	planner.rebuild() // as after more changes than the state remembers
	if d, f := planOne(t, s, request); len(d.Tasks) != 0 {
		t.Errorf("a fleet made anew forgets what is under way: %+v", d)
	} else {
		planner.resolve(f, f.tasks)
	}
	planner.resolve(first, first.tasks) // nothing of it is in the state
	if result := run(t.Context(), t, s, request); len(result.Tasks) != 1 {
		t.Errorf("what came to nothing still holds its GPU: %+v", result)
	}
	planner.resolve(second, second.tasks)
	if result := run(t.Context(), t, s, request); len(result.Tasks) != 1 {
		t.Errorf("what came to nothing still holds its GPU: %+v", result)
	}
	if len(planner.inFlight) != 0 {
		t.Errorf("%d flights never landed", len(planner.inFlight))
	}
}

func TestARunIsNotRefusedForWhatComesToNothing(t *testing.T) {
	s := startFrozen(t)
	joinWith(t, s, 1)
	request, now := runOf(define(t, s, 1)), s.leaderTerm.Load()
	_, ahead := planOne(t, s, request)

	b := &launchBatch{Server: s, runs: []spec.RunRequest{request}, answers: make([]runReply, 1), conflicts: make([]int, 1)}
	p := b.plan(now.planner, []int{0}) // the only GPU is under way to another task
	open := make(chan []int)
	go func() { open <- b.commitPlan(now, p) }()
	<-p.reserved.resolved // all that it still waits for is what becomes of the other
	now.planner.resolve(ahead, ahead.tasks)
	if again := <-open; len(again) != 1 {
		t.Errorf("it is refused for a task that never was: %+v", b.answers[0])
	}
	if left := b.attempt([]int{0}); len(left) != 0 || len(b.answers[0].result.Tasks) != 1 {
		t.Errorf("planned again: open %v, answer %+v", left, b.answers[0])
	}
}

func TestATokenUnderWayIsAnsweredFirst(t *testing.T) {
	s := startFrozen(t)
	joinWith(t, s, 8)
	request := runOf(define(t, s, 1))
	request.Token, request.TokenHash = "t", "h"
	d, ahead := planOne(t, s, request)

	answer := make(chan spec.RunResult)
	go func() { answer <- run(t.Context(), t, s, request) }()
	apply(t, s, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{newLaunch(request, d, s.cfg.Now())}})
	s.leaderTerm.Load().planner.resolve(ahead, ahead.tasks)
	if result := <-answer; len(result.Tasks) != 1 || result.Tasks[0].ID != d.Tasks[0].ID {
		t.Errorf("the retry started %+v, the first was %s", result.Tasks, d.Tasks[0].ID)
	}
}

func TestAnEntryStaysSmall(t *testing.T) {
	s := startFrozen(t)
	joinWith(t, s, 0)
	request := runOf(define(t, s, 0))
	request.Count = maxEntryTasks / 2
	before := s.raft.LastIndex()
	for i, answer := range s.launchRuns([]spec.RunRequest{request, request, request}) {
		if answer.err != nil || len(answer.result.Tasks) != request.Count {
			t.Errorf("run %d: %d tasks, %v", i, len(answer.result.Tasks), answer.err)
		}
	}
	if entries := s.raft.LastIndex() - before; entries != 2 {
		t.Errorf("%d tasks went into %d entries, want 2", 3*request.Count, entries)
	}
}
