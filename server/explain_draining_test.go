package server

import (
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func TestOnlyTasksThatHoldWhatIsMissingAreInTheWay(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	none, two := define(t, s, 0), define(t, s, 2)
	var placed []*spec.Task
	for _, definition := range []string{none, two, none} {
		task := run(t.Context(), t, s, queuedRun(definition)).Tasks[0]
		reportRunning(t, s, task.ID)
		placed = append(placed, task)
	}
	waits := run(t.Context(), t, s, queuedRun(two)).Tasks[0]
	e, err := s.scheduler.Explain(t.Context(), waits.ID)
	if err != nil || len(e.Blockers) != 1 || e.Blockers[0].TaskID != placed[1].ID {
		t.Errorf("%v: %+v, want %s alone", err, e.Blockers, placed[1].ID)
	}
}

func TestADrainedHostIsNamedToWhatWaitsForIt(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	runs := run(t.Context(), t, s, queuedRun(define(t, s, 0))).Tasks[0]
	reportRunning(t, s, runs.ID)
	apply(t, s, raftfsm.SetHostStatus{ID: hostID, Status: spec.HostDraining})
	waits := run(t.Context(), t, s, queuedRun(define(t, s, 1))).Tasks[0]
	const activate = "pinion host activate one"
	if q := waitingFor(t, s, waits.ID); !strings.Contains(q.WaitReason, activate) {
		t.Errorf("in the queue it waits for %q", q.WaitReason)
	}
	if e, err := s.scheduler.Explain(t.Context(), waits.ID); err != nil || !strings.Contains(e.Summary, activate) {
		t.Errorf("%v: %+v", err, e)
	}
	apply(t, s, raftfsm.SetHostStatus{ID: hostID, Status: spec.HostDraining, Drain: &spec.HostDrain{At: day0.Add(time.Hour), After: time.Hour}})
	if e, err := s.scheduler.Explain(t.Context(), runs.ID); err != nil || !strings.Contains(e.Summary, day0.Add(time.Hour).UTC().Format(time.RFC3339)) {
		t.Errorf("%v: that the task is stopped is not told: %+v", err, e)
	}
}
