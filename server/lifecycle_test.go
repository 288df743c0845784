package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// tags are written "name=value", without the "pinion." before.
func tags(words ...string) (all []spec.Tag) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		all = append(all, spec.Tag{Key: "pinion." + name, Value: value})
	}
	return all
}

// reportExit has the host of the test report that a task has run and exited.
func reportExit(t testing.TB, s *Server, id string, code int) {
	t.Helper()
	now := s.cfg.Now()
	report := spec.TaskReport{TaskID: id, Status: spec.Stopped, StopCode: spec.StopEssentialExited, StoppedReason: "Essential container in task exited",
		Times:      spec.TaskTimes{Started: now, ExecutionStopped: now, Stopped: now},
		Containers: []spec.ContainerReport{{Name: "main", Status: spec.Stopped, ExitCode: &code}}}
	if _, err := s.agents.Report(t.Context(), hostID, []spec.TaskReport{report}); err != nil {
		t.Fatal(err)
	}
}

func isStopped(t *spec.Task) bool  { return t.LastStatus == spec.Stopped }
func isStopping(t *spec.Task) bool { return t.DesiredStatus == spec.Stopped }

// attemptOf waits until an attempt at the work of a task is on record.
func attemptOf(t testing.TB, s *Server, first string, attempt int) *spec.Task {
	t.Helper()
	var found *spec.Task
	until(t, s, func(v *raftfsm.View) bool {
		attempts := v.Attempts(first)
		at := slices.IndexFunc(attempts, func(task *spec.Task) bool { return task.Attempt == attempt })
		if at >= 0 {
			found = attempts[at]
		}
		return at >= 0
	})
	return found
}

// runQueued runs tasks through the queue and answers them when each has its place.
func runQueued(t testing.TB, s *Server, r spec.RunRequest) []*spec.Task {
	t.Helper()
	tasks := run(t.Context(), t, s, r).Tasks
	for i := range tasks {
		tasks[i] = become(t, s, tasks[i].ID, hasPlace)
	}
	return tasks
}

func TestATaskThatFailsIsRunAgainAndThenNoMore(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	first := runQueued(t, s, queuedRun(define(t, s, 1), tags("retries=1", "retry-on=3")...))[0]
	reportExit(t, s, first.ID, 3)
	again := attemptOf(t, s, first.ID, 1)
	if !again.Queue.NotBefore.After(again.CreatedAt) {
		t.Errorf("it does not pause: %+v", again.Queue)
	}
	if again = become(t, s, again.ID, hasPlace); len(again.GPUs()) != 1 {
		t.Errorf("%+v", again)
	}
	reportExit(t, s, again.ID, 3)
	become(t, s, again.ID, isStopped)
	other := runQueued(t, s, queuedRun(define(t, s, 1)))[0] // what follows in the log was looked at after that
	reportExit(t, s, other.ID, 0)
	if all := s.state.View().Attempts(first.ID); len(all) != 1 {
		t.Errorf("attempts: %v", all)
	}
}

func TestAGangStartsWholeAndEndsWithTheOneThatFails(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 4)
	blocker := runQueued(t, s, queuedRun(define(t, s, 2)))[0]
	request := queuedRun(define(t, s, 1), tags("gang=true")...)
	request.Count = 3
	gang := run(t.Context(), t, s, request).Tasks
	small := runQueued(t, s, queuedRun(define(t, s, 0)))[0] // proves that the queue was gone through
	for _, member := range gang {
		if now := s.state.View().Task(member.ID); now.HostID != "" {
			t.Fatalf("two of three have room, and rank %d has a place", now.Gang.Rank)
		}
	}
	reportExit(t, s, blocker.ID, 0)
	for rank, member := range gang {
		if now := become(t, s, member.ID, hasPlace); now.Gang.Rank != rank || now.Gang.Size != 3 || now.Gang.Port == 0 {
			t.Errorf("rank %d: %+v", rank, now.Gang)
		}
	}
	reportExit(t, s, gang[1].ID, 9)
	for _, rank := range []int{0, 2} {
		now := become(t, s, gang[rank].ID, isStopping)
		want := fmt.Sprintf("Rank 1 of the gang (task %s) ended, and all end with it: Essential container in task exited (exit code 9)", gang[1].ID)
		if now.StopCode != spec.StopScheduler || now.StoppedReason != want {
			t.Errorf("rank %d: %s %q", rank, now.StopCode, now.StoppedReason)
		}
	}
	if now := s.state.View().Task(small.ID); isStopping(now) {
		t.Errorf("a task of its own was stopped: %+v", now)
	}
}

func TestAGangThatGaveWayWaitsAgainAsAWhole(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	request := queuedRun(define(t, s, 1), tags("gang=true", "preemptible=true")...)
	request.Count = 2
	gang := runQueued(t, s, request)
	apply(t, s, raftfsm.StopTask{ID: gang[0].ID, Code: spec.StopPreempted, Reason: "for another", At: s.cfg.Now()})
	become(t, s, gang[1].ID, isStopping)
	reportExit(t, s, gang[0].ID, 143)
	reportExit(t, s, gang[1].ID, 143)
	for rank, member := range gang {
		again := become(t, s, attemptOf(t, s, member.ID, 1).ID, hasPlace)
		if again.Gang.Rank != rank || again.Gang.ID == member.Gang.ID || again.Failed != 0 {
			t.Errorf("rank %d: %+v", rank, again)
		}
	}
}

func TestTasksWaitForOthersToEnd(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 8)
	definition := define(t, s, 1)
	array := queuedRun(definition)
	array.Count, array.ArrayFrom, array.Group = 3, new(int), "nightly"
	before := runQueued(t, s, array)
	after := func(word string) *spec.Task {
		return run(t.Context(), t, s, queuedRun(definition, tags("after="+word)...)).Tasks[0]
	}
	task, group := after(before[0].ID), after("group:nightly")
	vain, either := after("group:nightly "+before[2].ID), after("any:group:nightly")
	reportExit(t, s, before[0].ID, 0)
	become(t, s, task.ID, hasPlace)
	reportExit(t, s, before[1].ID, 0)
	for _, held := range []*spec.Task{group, vain, either} {
		if now := s.state.View().Task(held.ID); !now.Blocked() {
			t.Errorf("task 2 goes on, and %+v does not wait for it", now)
		}
	}
	reportExit(t, s, before[2].ID, 5)
	become(t, s, either.ID, hasPlace)
	for _, id := range []string{group.ID, vain.ID} {
		now := become(t, s, id, isStopped)
		if now.StopCode != spec.StopScheduler || !strings.HasPrefix(now.StoppedReason, "It waited for ") || !strings.HasSuffix(now.StoppedReason, "(exit code 5)") {
			t.Errorf("%s: %q", now.StopCode, now.StoppedReason)
		}
		if !now.StoppedAsFailed() {
			t.Errorf("it counts as stopped: %q", now.StoppedReason)
		}
	}
}

func TestATaskWaitsForTheLastAttempt(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	definition := define(t, s, 1)
	first := runQueued(t, s, queuedRun(definition, tags("retries=1")...))[0]
	reportExit(t, s, first.ID, 1)
	again := attemptOf(t, s, first.ID, 1)
	held := run(t.Context(), t, s, queuedRun(definition, tags("after="+first.ID)...)).Tasks[0]
	become(t, s, again.ID, hasPlace)
	if now := s.state.View().Task(held.ID); !now.Blocked() {
		t.Fatalf("%+v", now)
	}
	reportExit(t, s, again.ID, 0)
	become(t, s, held.ID, hasPlace)
}

// What a leader did not come to do, the next one does: both are the same process here, started twice.
func TestANewLeaderCarriesOutWhatIsLeft(t *testing.T) {
	cfg := config(t.TempDir())
	s := start(t, cfg)
	joinWith(t, s, 2)
	definition := define(t, s, 1)
	first := runQueued(t, s, queuedRun(definition, tags("retries=1")...))[0]
	held := run(t.Context(), t, s, queuedRun(definition, tags("after="+first.ID)...)).Tasks[0]
	reportExit(t, s, first.ID, 1)
	stop(t, s)
	s = start(t, cfg)
	joinWith(t, s, 2)
	again := become(t, s, attemptOf(t, s, first.ID, 1).ID, hasPlace)
	reportExit(t, s, again.ID, 0)
	become(t, s, held.ID, hasPlace)
}

func TestAGangOfAThousandStartsAndEndsAsOne(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	request := queuedRun(define(t, s, 0), tags("gang=true", "retries=1")...)
	request.Count = 1000
	gang := runQueued(t, s, request)
	reportExit(t, s, gang[999].ID, 1)
	for _, member := range gang[:999] {
		become(t, s, member.ID, isStopping)
	}
	var reports []spec.TaskReport
	for _, member := range gang[:999] {
		reports = append(reports, spec.TaskReport{TaskID: member.ID, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: s.cfg.Now()}})
	}
	if _, err := s.agents.Report(t.Context(), hostID, reports); err != nil {
		t.Fatal(err)
	}
	again := attemptOf(t, s, gang[0].ID, 1)
	if all := s.state.View().Gang(again.Gang.ID); len(all) != 1000 {
		t.Errorf("%d tasks are tried again", len(all))
	}
}
