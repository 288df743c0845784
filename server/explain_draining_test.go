package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/gpufault"
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

// What becomes of a task whose GPU has failed follows from the setting of its cluster.
func TestTheOwnerOfATaskIsToldThatItsGPUHasFailed(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	task := run(t.Context(), t, s, queuedRun(define(t, s, 1))).Tasks[0]
	reportRunning(t, s, task.ID)
	host := *s.state.View().Host(hostID)
	host.GPUs.Devices = slices.Clone(host.GPUs.Devices)
	host.GPUs.Devices[0].Health, host.GPUs.Devices[0].Problem = gpu.NeedsReset, "Xid 74, an error of NVLink"
	apply(t, s, raftfsm.PutHost{Host: host})
	for policy, then := range map[string]string{"end": "unless its results are lost", "keep": "runs on until it ends:", "move": "is stopped at"} {
		apply(t, s, raftfsm.UpdateCluster{Name: spec.DefaultCluster, Settings: []spec.Setting{{Name: gpufault.Setting, Value: policy}}})
		if e, err := s.scheduler.Explain(t.Context(), task.ID); err != nil || !strings.Contains(e.Summary, "Xid 74") || !strings.Contains(e.Summary, then) || !strings.Contains(e.Summary, gpufault.Setting) {
			t.Errorf("%s: %v: %+v", policy, err, e)
		}
	}
}
