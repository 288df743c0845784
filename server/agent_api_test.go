package server

import (
	"context"
	"errors"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
)

func TestAssignmentsAnswerWhenTheyDiffer(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	definition := define(t, s, 1)
	none, index, err := s.agents.Assignments(t.Context(), hostID, 0, 0)
	if err != nil || len(none) != 0 {
		t.Fatal(none, err)
	}

	type answer struct {
		list  []spec.Assignment
		index uint64
		err   error
	}
	wait := func(after uint64) <-chan answer {
		c := make(chan answer, 1)
		go func() {
			list, index, err := s.agents.Assignments(t.Context(), hostID, after, after)
			c <- answer{list, index, err}
		}()
		return c
	}

	waiting := wait(index)
	task := run(t.Context(), t, s, runOf(definition)).Tasks[0]
	got := <-waiting
	if got.err != nil || len(got.list) != 1 || got.list[0].Task.ID != task.ID || got.list[0].Definition == nil {
		t.Fatalf("after a launch: %+v", got)
	}

	// The host's own report wakes nobody; the stop that follows does.
	waiting = wait(got.index)
	report(t, s, spec.TaskReport{TaskID: task.ID, Status: spec.Running})
	apply(t, s, raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated})
	got = <-waiting
	if got.err != nil || len(got.list) != 1 || got.list[0].Task.DesiredStatus != spec.Stopped {
		t.Fatalf("after a stop: %+v", got)
	}

	waiting = wait(got.index)
	report(t, s, spec.TaskReport{TaskID: task.ID, Status: spec.Stopped})
	if got = <-waiting; got.err != nil || len(got.list) != 0 {
		t.Fatalf("after the end: %+v", got)
	}
}

func report(t *testing.T, s *Server, r spec.TaskReport) []string {
	t.Helper()
	unknown, err := s.agents.Report(t.Context(), hostID, []spec.TaskReport{r})
	if err != nil {
		t.Fatal(err)
	}
	return unknown
}

func TestAssignmentsEndWithTheirContextAndWithTheServer(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	_, index, err := s.agents.Assignments(t.Context(), hostID, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.agents.Assignments(ctx, hostID, index, index); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.agents.Assignments(context.Background(), hostID, index, index)
		ended <- err
	}()
	stop(t, s)
	if err := <-ended; !errors.Is(err, spec.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestAHostThatIsNotKnownIsToldToJoin(t *testing.T) {
	s := start(t, config(t.TempDir()))
	if _, _, err := s.agents.Assignments(t.Context(), hostID, 0, 0); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("assignments: %v", err)
	}
	if err := s.agents.Heartbeat(t.Context(), hostID, nil); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("heartbeat: %v", err)
	}
}

func TestJoinMakesTheClusterItNamesAndNamesTasksNobodyKnows(t *testing.T) {
	s := start(t, config(t.TempDir()))
	host := spec.Host{ID: hostID, Name: "one", Cluster: "training"}
	unknown, err := s.agents.Join(t.Context(), host, []spec.TaskReport{{TaskID: "stray", Status: spec.Running}})
	if err != nil || !slices.Equal(unknown, []string{"stray"}) {
		t.Fatal(unknown, err)
	}
	known := view(t, s).Host(hostID)
	if known == nil || known.RegisteredAt.IsZero() || view(t, s).Cluster("training") == nil || !s.liveness.Connected(hostID) {
		t.Errorf("after a join: host %+v", known)
	}
}

func TestReportsThatArriveTogetherShareEntriesAndKeepTheirAnswers(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 8)
	definition := define(t, s, 0)
	ids := make([]string, 50)
	for i := range ids {
		ids[i] = run(t.Context(), t, s, runOf(definition)).Tasks[0].ID
	}
	before := s.node.Raft().LastIndex()
	atOnce(100, func(i int) {
		if i%2 == 0 {
			if unknown := report(t, s, spec.TaskReport{TaskID: ids[i/2], Status: spec.Running}); len(unknown) != 0 {
				t.Errorf("unknown: %v", unknown)
			}
			return
		}
		stray := id.New()
		if unknown := report(t, s, spec.TaskReport{TaskID: stray, Status: spec.Running}); !slices.Equal(unknown, []string{stray}) {
			t.Errorf("a stray task is answered with %v", unknown)
		}
	})
	for _, id := range ids {
		if view(t, s).Task(id).LastStatus != spec.Running {
			t.Errorf("the report of %s is lost", id)
		}
	}
	if entries := s.node.Raft().LastIndex() - before; entries > 50 {
		t.Errorf("%d log entries for 100 reports", entries)
	}
}
