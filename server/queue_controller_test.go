package server

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/team"
)

// queuedRun is runOf through the queue.
func queuedRun(definition string, tags ...spec.Tag) spec.RunRequest {
	r := runOf(definition)
	r.CapacityProvider, r.Tags = spec.BuiltinCapacityProvider, tags
	return r
}

// until waits until the state is what the test wants.
func until(t testing.TB, s *Server, is func(*raftfsm.View) bool) *raftfsm.View {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	mark := raftfsm.PositionAfter(s.state.View().Index())
	for {
		if view := s.state.View(); is(view) {
			return view
		}
		changes, more, err := s.state.Changes(mark, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(changes) > 0 {
			mark = changes[len(changes)-1].Position
			continue
		}
		select {
		case <-more:
		case <-ctx.Done():
			t.Fatalf("the tasks became %+v", s.state.View().Tasks(""))
		}
	}
}

// become waits until the task is what the test wants.
func become(t testing.TB, s *Server, id string, is func(*spec.Task) bool) *spec.Task {
	t.Helper()
	return until(t, s, func(v *raftfsm.View) bool { return is(v.Task(id)) }).Task(id)
}

func hasPlace(t *spec.Task) bool { return t.LastStatus == spec.Pending && t.HostID != "" }

// reportStopped has the host of the test report that a task is over.
func reportStopped(t testing.TB, s *Server, id string) {
	t.Helper()
	report := spec.TaskReport{TaskID: id, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: s.cfg.Now()}}
	if _, err := s.agents.Report(t.Context(), hostID, []spec.TaskReport{report}); err != nil {
		t.Fatal(err)
	}
}

func TestATaskWaitsAndIsPlacedWhenAGPUIsFree(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	request := queuedRun(define(t, s, 1))
	request.Count = 3
	tasks := run(t.Context(), t, s, request).Tasks
	if len(tasks) != 3 || tasks[0].LastStatus != spec.Provisioning || tasks[0].CapacityProvider != spec.BuiltinCapacityProvider {
		t.Fatalf("%+v", tasks)
	}
	var placed []string
	until(t, s, func(v *raftfsm.View) bool {
		placed = nil
		for _, task := range tasks {
			if now := v.Task(task.ID); hasPlace(now) && len(now.GPUs()) == 1 {
				placed = append(placed, task.ID)
			}
		}
		return len(placed) == 2
	})
	reportStopped(t, s, placed[0])
	for _, task := range tasks {
		become(t, s, task.ID, func(t *spec.Task) bool { return t.LastStatus != spec.Provisioning })
	}
}

func TestTasksThatWaitArePlacedWhenAHostComes(t *testing.T) {
	s := start(t, config(t.TempDir()))
	request := queuedRun(define(t, s, 1))
	request.Count = 8
	tasks := run(t.Context(), t, s, request).Tasks
	joinWith(t, s, 8)
	for _, task := range tasks {
		if got := become(t, s, task.ID, hasPlace); got.HostID != hostID || len(got.GPUs()) != 1 {
			t.Errorf("%+v", got)
		}
	}
}

func TestATokenEnqueuesItsTasksOnce(t *testing.T) {
	s := start(t, config(t.TempDir()))
	request := queuedRun(define(t, s, 1))
	request.ClientToken, request.RequestHash = "again", "h"
	ids := make([]string, 20)
	atOnce(len(ids), func(i int) { ids[i] = run(t.Context(), t, s, request).Tasks[0].ID })
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("%s and %s", id, ids[0])
		}
	}
}

func tag(key, value string) spec.Tag { return spec.Tag{Key: key, Value: value} }

// reportRunning has the host of the test report that a task runs.
func reportRunning(t testing.TB, s *Server, id string) {
	t.Helper()
	become(t, s, id, hasPlace)
	report := spec.TaskReport{TaskID: id, Status: spec.Running, Times: spec.TaskTimes{Started: s.cfg.Now()}}
	if _, err := s.agents.Report(t.Context(), hostID, []spec.TaskReport{report}); err != nil {
		t.Fatal(err)
	}
}

func TestATaskIsStoppedAtItsTimeLimit(t *testing.T) {
	var c clock
	cfg := config(t.TempDir())
	cfg.Now = c.now
	s := start(t, cfg)
	joinWith(t, s, 1)
	limited := run(t.Context(), t, s, queuedRun(define(t, s, 1), tag(spec.TagTimeLimit, "10m"))).Tasks[0]
	reportRunning(t, s, limited.ID)
	leaderKnows(t, s)
	c.pass(10 * time.Minute)
	got := become(t, s, limited.ID, func(t *spec.Task) bool { return t.DesiredStatus == spec.Stopped })
	if got.StopCode != spec.StopScheduler || got.StoppedReason != "The task reached its time limit of 10m0s (pinion.time-limit)" {
		t.Errorf("%s: %s", got.StopCode, got.StoppedReason)
	}
}

// leaderKnows waits until the loop of the queue has seen everything that is recorded.
func leaderKnows(t testing.TB, s *Server) {
	t.Helper()
	if _, err := s.scheduler.Queue(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

func TestATaskOfLowPriorityGivesWay(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	definition := define(t, s, 1)
	low := run(t.Context(), t, s, queuedRun(definition, tag(spec.TagPreemptible, "true"))).Tasks[0]
	reportRunning(t, s, low.ID)
	high := run(t.Context(), t, s, queuedRun(definition, tag(spec.TagPriority, "7"))).Tasks[0]
	stopped := become(t, s, low.ID, func(t *spec.Task) bool { return t.DesiredStatus == spec.Stopped })
	if stopped.StopCode != spec.StopPreempted || stopped.LastStatus != spec.Running {
		t.Errorf("%s: %s, %s", stopped.StopCode, stopped.StoppedReason, stopped.LastStatus)
	}
	reportStopped(t, s, low.ID)
	become(t, s, high.ID, hasPlace)
}

func TestWhoDoesNotAllowItIsNotStoppedForOthers(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	definition := define(t, s, 1)
	firm := run(t.Context(), t, s, queuedRun(definition)).Tasks[0]
	reportRunning(t, s, firm.ID)
	equal := run(t.Context(), t, s, queuedRun(definition, tag(spec.TagPriority, "7"), tag(spec.TagPreemptible, "true"))).Tasks[0]
	reportRunning(t, s, equal.ID)
	low := run(t.Context(), t, s, queuedRun(definition, tag(spec.TagPriority, "7"))).Tasks[0]
	high := run(t.Context(), t, s, queuedRun(definition, tag(spec.TagPriority, "8"))).Tasks[0]
	become(t, s, equal.ID, func(t *spec.Task) bool { return t.DesiredStatus == spec.Stopped })
	reportStopped(t, s, equal.ID)
	become(t, s, high.ID, hasPlace)
	view := s.state.View()
	if view.Task(low.ID).LastStatus != spec.Provisioning || view.Task(firm.ID).DesiredStatus != spec.Running {
		t.Errorf("%+v %+v", view.Task(low.ID), view.Task(firm.ID))
	}
}

func TestOnlyWhatIsOverInTimeStartsBeforeTheHead(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	one, two := define(t, s, 1), define(t, s, 2)
	running := run(t.Context(), t, s, queuedRun(one, tag(spec.TagTimeLimit, "1h"))).Tasks[0]
	reportRunning(t, s, running.ID)
	head := run(t.Context(), t, s, queuedRun(two)).Tasks[0]
	long := run(t.Context(), t, s, queuedRun(one, tag(spec.TagTimeLimit, "2h"))).Tasks[0]
	short := run(t.Context(), t, s, queuedRun(one, tag(spec.TagTimeLimit, "10m"))).Tasks[0]
	reportRunning(t, s, short.ID)
	if view := s.state.View(); view.Task(head.ID).HostID != "" || view.Task(long.ID).HostID != "" {
		t.Fatalf("%+v %+v", view.Task(head.ID), view.Task(long.ID))
	}
	reportStopped(t, s, short.ID)
	e, err := s.scheduler.Explain(t.Context(), long.ID)
	if err != nil || !strings.Contains(e.Summary, head.ID) || e.Earliest != nil {
		t.Errorf("%v: %+v", err, e)
	}
	limit := regexp.MustCompile(`at most (\w+) `).FindStringSubmatch(e.Estimate)
	if limit == nil {
		t.Fatalf("no time limit is said with which it could start: %+v", e)
	}
	backfill := run(t.Context(), t, s, queuedRun(one, tag(spec.TagTimeLimit, limit[1]))).Tasks[0]
	reportRunning(t, s, backfill.ID)
	reportStopped(t, s, backfill.ID)
	reportStopped(t, s, running.ID)
	become(t, s, head.ID, hasPlace)
	reportStopped(t, s, head.ID)
	become(t, s, long.ID, hasPlace)
}

func TestWhatIsBorrowedIsGivenBackToWhoHasARightToIt(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	quota := 1
	for _, name := range []string{"vision", "speech"} {
		apply(t, s, raftfsm.Wrap(team.Put{Team: team.Team{Name: name, GPUs: &quota, Weight: 1}}))
	}
	definition := define(t, s, 1)
	ofVision := func() *spec.Task {
		tags := []spec.Tag{tag(spec.TagTeam, "vision"), tag(spec.TagPreemptible, "true"), tag(spec.TagPriority, "9")}
		task := run(t.Context(), t, s, queuedRun(definition, tags...)).Tasks[0]
		reportRunning(t, s, task.ID)
		return task
	}
	old, young := ofVision(), ofVision()
	speech := run(t.Context(), t, s, queuedRun(definition, tag(spec.TagTeam, "speech"))).Tasks[0]
	become(t, s, young.ID, func(t *spec.Task) bool { return t.StopCode == spec.StopPreempted })
	reportStopped(t, s, young.ID)
	become(t, s, speech.ID, hasPlace)
	if got := s.state.View().Task(old.ID); got.DesiredStatus != spec.Running {
		t.Errorf("what is within its quota was stopped too: %+v", got)
	}
}

// Two GPUs, one held by a task that gives way and one by a task that ends: short tasks that come all the time do not take
// what the head of the queue needs beside what is stopped for it.
func TestShortTasksDoNotTakeWhatOthersGiveWayFor(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	one, two := define(t, s, 1), define(t, s, 2)
	soft := run(t.Context(), t, s, queuedRun(one, tag(spec.TagPreemptible, "true"))).Tasks[0]
	reportRunning(t, s, soft.ID)
	firm := run(t.Context(), t, s, queuedRun(one)).Tasks[0]
	reportRunning(t, s, firm.ID)
	head := run(t.Context(), t, s, queuedRun(two, tag(spec.TagPriority, "5"))).Tasks[0]
	short := run(t.Context(), t, s, queuedRun(one, tag(spec.TagTimeLimit, "1s"))).Tasks[0]
	reportStopped(t, s, firm.ID)
	become(t, s, soft.ID, func(t *spec.Task) bool { return t.StopCode == spec.StopPreempted })
	if got := s.state.View().Task(short.ID); got.HostID != "" {
		t.Errorf("%+v", got)
	}
	reportStopped(t, s, soft.ID)
	become(t, s, head.ID, hasPlace)
}
