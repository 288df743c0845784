package server

import (
	"errors"
	"sync"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// atOnce calls f n times concurrently, n goroutines waiting for one start.
func atOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-begin
			f(i)
		})
	}
	close(begin)
	all.Wait()
}

func TestAHundredRunsOnEightGPUsPlaceExactlyEight(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 8)
	definition := define(t, s, 1)
	before := s.node.Raft().LastIndex()

	results := make([]spec.RunResult, 100)
	atOnce(len(results), func(i int) { results[i] = run(t.Context(), t, s, runOf(definition)) })

	owner := make(map[string]string)
	for _, r := range results {
		if len(r.Tasks)+len(r.Failures) != 1 {
			t.Fatalf("a run of one task has %d tasks and %d failures", len(r.Tasks), len(r.Failures))
		}
		for _, f := range r.Failures {
			if f.Reason != spec.ReasonGPU {
				t.Errorf("refused for %s", f.Reason)
			}
		}
		for _, task := range r.Tasks {
			for _, uuid := range task.GPUs() {
				if owner[uuid] != "" {
					t.Errorf("%s was given to %s and %s", uuid, owner[uuid], task.ID)
				}
				owner[uuid] = task.ID
			}
		}
	}
	if len(owner) != 8 {
		t.Errorf("%d GPUs were given away, want 8", len(owner))
	}
	if entries := s.node.Raft().LastIndex() - before; entries > 8 {
		t.Errorf("%d log entries for 100 runs", entries)
	}
}

func TestRunsThatArriveTogetherShareEntries(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 0)
	definition := define(t, s, 0)
	before := s.node.Raft().LastIndex()
	atOnce(100, func(int) {
		if r := run(t.Context(), t, s, runOf(definition)); len(r.Tasks) != 1 {
			t.Errorf("got %+v", r)
		}
	})
	if tasks := len(view(t, s).Tasks("")); tasks != 100 {
		t.Errorf("%d tasks are recorded, want 100", tasks)
	}
	if entries := s.node.Raft().LastIndex() - before; entries > 50 {
		t.Errorf("%d log entries for 100 runs", entries)
	}
}

func TestATokenStartsItsTasksOnce(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 8)
	request := runOf(define(t, s, 1))
	request.ClientToken, request.RequestHash = "retry-me", "h1"

	first := run(t.Context(), t, s, request)
	again := run(t.Context(), t, s, request)
	if len(first.Tasks) != 1 || len(again.Tasks) != 1 || first.Tasks[0].ID != again.Tasks[0].ID {
		t.Errorf("first %v, again %v", first.Tasks, again.Tasks)
	}

	request.RequestHash = "h2"
	_, err := s.scheduler.Run(t.Context(), request)
	var conflict *spec.ClientTokenConflict
	if !errors.As(err, &conflict) || len(conflict.TaskIDs) != 1 || conflict.TaskIDs[0] != first.Tasks[0].ID {
		t.Errorf("other parameters under the same token: %v", err)
	}
}

func TestWhatCannotRunIsSaid(t *testing.T) {
	s := start(t, config(t.TempDir()))
	definition := define(t, s, 0)
	cases := []struct {
		name string
		run  spec.RunRequest
		want error
	}{
		{"unknown definition", spec.RunRequest{Cluster: spec.DefaultCluster, Definition: "none:1", Count: 1}, spec.ErrNotFound},
		{"unknown cluster", spec.RunRequest{Cluster: "none", Definition: definition, Count: 1}, spec.ErrNotFound},
		{"no hosts", runOf(definition), spec.ErrNoHosts},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if _, err := s.scheduler.Run(t.Context(), c.run); !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	apply(t, s, raftfsm.DeregisterDefinition{Name: definition, At: time.Now()})
	if _, err := s.scheduler.Run(t.Context(), runOf(definition)); !errors.Is(err, spec.ErrInactive) {
		t.Errorf("a deregistered definition: %v", err)
	}
}

func TestNothingIsPlacedOnAHostThatWentSilent(t *testing.T) {
	var c clock
	cfg := config(t.TempDir())
	cfg.Now = c.now
	s := start(t, cfg)
	joinWith(t, s, 1)
	definition := define(t, s, 0)

	c.pass(5 * time.Second)
	r := run(t.Context(), t, s, runOf(definition))
	if s.liveness.Connected(hostID) || len(r.Tasks) != 0 || r.Failures[0].Reason != spec.ReasonAgent {
		t.Errorf("connected %t, answer %+v", s.liveness.Connected(hostID), r)
	}
	if err := s.agents.Heartbeat(t.Context(), hostID, nil); err != nil {
		t.Fatal(err)
	}
	if r := run(t.Context(), t, s, runOf(definition)); !s.liveness.Connected(hostID) || len(r.Tasks) != 1 {
		t.Errorf("after a heartbeat: connected %t, answer %+v", s.liveness.Connected(hostID), r)
	}
}
