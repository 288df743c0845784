package server

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

func TestWhatWaitsIsExplained(t *testing.T) {
	var c clock
	cfg := config(t.TempDir())
	cfg.Now = c.now
	s := start(t, cfg)
	joinWith(t, s, 2)
	one, three := define(t, s, 1), define(t, s, 3)
	limited := run(t.Context(), t, s, queuedRun(one, tag(spec.TagTimeLimit, "1h"), tag(spec.TagTeam, "vision"))).Tasks[0]
	reportRunning(t, s, limited.ID)
	c.pass(time.Minute)
	if err := s.agents.Heartbeat(t.Context(), hostID, nil); err != nil {
		t.Fatal(err)
	}
	endless := run(t.Context(), t, s, queuedRun(one)).Tasks[0]
	reportRunning(t, s, endless.ID)
	waiting := func(definition string, tags ...spec.Tag) *spec.Task {
		c.pass(time.Millisecond) // each is younger than the one before
		return run(t.Context(), t, s, queuedRun(definition, tags...)).Tasks[0]
	}
	first, second := waiting(one, tag(spec.TagPriority, "3")), waiting(one)
	never, after := waiting(three), waiting(one, tag(spec.TagAfter, endless.ID))
	explain := func(id string) spec.Explanation {
		t.Helper()
		e, err := s.scheduler.Explain(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}

	e := explain(first.ID)
	if e.Queue == nil || e.Queue.Position != 1 || e.QueueLength != 3 || len(e.Hosts) != 1 || e.Hosts[0].Reason != spec.ReasonGPU || e.Hosts[0].Detail != "needs 1 GPU, 0 free" {
		t.Errorf("%+v", e)
	}
	if e.Earliest == nil || !e.Earliest.Equal(day0.Add(time.Hour)) || len(e.Blockers) != 1 || e.Blockers[0].TaskID != limited.ID || e.Blockers[0].Team != "vision" {
		t.Errorf("it starts at %v when %+v end", e.Earliest, e.Blockers)
	}
	if e := explain(second.ID); e.Queue.Position != 2 || !strings.Contains(e.Estimate, "unless") {
		t.Errorf("%+v", e)
	}
	if e := explain(never.ID); e.Earliest != nil || !strings.Contains(e.Summary, "in the queue of cluster default for another host: no host could ever run it (the nearest is one: needs 3 GPUs, the host has 2)") {
		t.Errorf("%+v", e)
	}
	if e := explain(after.ID); e.Queue.Position != 0 || !strings.Contains(e.Summary, endless.ID) {
		t.Errorf("%+v", e)
	}
	if e := explain(limited.ID); e.Queue != nil || e.Summary != "It is placed on host one with 1 GPU." {
		t.Errorf("%+v", e)
	}
	if _, err := s.scheduler.Explain(t.Context(), "none"); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}

	list, err := s.scheduler.Queue(t.Context(), "")
	if err != nil || len(list) != 4 || list[0].TaskID != first.ID || list[1].TaskID != second.ID || list[3].TaskID != after.ID || list[3].Position != 0 {
		t.Errorf("%v: %+v", err, list)
	}
}

// Hosts on one machine have the same name.
func TestExplanationsTellHostsOfTheSameNameApart(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	placed := run(t.Context(), t, s, runOf(define(t, s, 1))).Tasks[0]
	sameName := spec.Host{ID: "ffff0000000000000000000000000002", Name: "one", Cluster: spec.DefaultCluster, Address: "127.0.0.1:7401", CPU: 1, MemoryMiB: 1}
	if _, err := s.agents.Join(t.Context(), sameName, nil); err != nil {
		t.Fatal(err)
	}
	e, err := s.scheduler.ExplainBriefly(t.Context(), placed.ID)
	if want := "It is placed on host one (" + hostID[:8] + ") with 1 GPU."; err != nil || e.Summary != want {
		t.Errorf("%v: %q, want %q", err, e.Summary, want)
	}
}

func TestABriefExplanationAsksNoHost(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 2)
	one, three := define(t, s, 1), define(t, s, 3)
	placed := run(t.Context(), t, s, queuedRun(define(t, s, 2))).Tasks[0]
	reportRunning(t, s, placed.ID)
	waits, never := run(t.Context(), t, s, queuedRun(one)).Tasks[0], run(t.Context(), t, s, queuedRun(three)).Tasks[0]
	after := run(t.Context(), t, s, queuedRun(one, tag(spec.TagAfter, placed.ID))).Tasks[0]
	explain := func(task *spec.Task) spec.Explanation {
		t.Helper()
		e, err := s.scheduler.ExplainBriefly(t.Context(), task.ID)
		if err != nil || len(e.Hosts)+len(e.Blockers) > 0 || e.Earliest != nil || e.Estimate != "" {
			t.Errorf("%v: %+v", err, e)
		}
		return e
	}
	if e := explain(placed); e.Queue != nil || e.Summary != "It is placed on host one with 2 GPUs." {
		t.Errorf("%+v", e)
	}
	if e := explain(waits); e.QueueLength != 2 || e.Queue.Position != 1 || e.Queue.Infeasible != nil || !strings.Contains(e.Summary, "number 1 of 2") {
		t.Errorf("%+v, %+v", e, e.Queue)
	}
	if e := explain(never); e.Queue.Position != 2 || e.Queue.Infeasible == nil || !strings.Contains(e.Summary, "no host could ever run it") {
		t.Errorf("%+v, %+v", e, e.Queue)
	}
	if e := explain(after); e.Queue.Position != 0 || !strings.Contains(e.Summary, placed.ID) {
		t.Errorf("%+v, %+v", e, e.Queue)
	}
	if _, err := s.scheduler.ExplainBriefly(t.Context(), "none"); !errors.Is(err, spec.ErrNotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
}
