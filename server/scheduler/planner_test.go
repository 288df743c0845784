package scheduler

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/blob"
	"pinion/raftfsm/spec"
)

func TestPlansInFlightHoldTheirPlaces(t *testing.T) {
	s := newTestScheduler(t, 2)
	request := s.request(1)
	first, second := s.planOne(request), s.planOne(request)
	refused := func(when string) {
		t.Helper()
		a := s.planOne(request)
		if len(a.planned) != 0 || a.refused[0].reply.result.Failures[0].Reason != spec.ReasonGPU {
			t.Errorf("%s: both GPUs are in flight, and a third task gets %+v", when, a.tasks())
		}
		a.plan.resolve(a.tasks())
	}
	refused("planned on the same hosts")
	s.planner().mu.Lock()
	s.planner().follower.Reset() // as after more changes than the state remembers
	s.planner().mu.Unlock()
	refused("planned on hosts that were rebuilt")

	for _, plan := range []*planPass{first, second} {
		plan.plan.resolve(plan.tasks()) // nothing of it is in the state
		if result := s.run(request); len(result.Tasks) != 1 {
			t.Errorf("a plan that was rejected still holds its GPU: %+v", result)
		}
	}
	if planning := s.planner().begin(); len(planning.concurrent()) != 0 {
		t.Errorf("%d plans were never resolved", len(planning.concurrent()))
		planning.discard()
	} else {
		planning.discard()
	}
}

func TestARunIsNotRefusedForAPlanThatFails(t *testing.T) {
	s := newTestScheduler(t, 1)
	request := s.request(1)
	ahead := s.planOne(request)

	l := &batchedRun{request: request}
	a := s.plan(s.term.Load(), []*batchedRun{l}) // the only GPU is in flight
	open := make(chan []*batchedRun)
	go func() { open <- a.record() }()
	<-a.plan.resolved // all that it waits for now is the other plan
	ahead.plan.resolve(ahead.tasks())
	if again := <-open; len(again) != 1 {
		t.Errorf("it is refused for a task that never was: %+v", l.reply)
	}
	if left := s.planPass([]*batchedRun{l}); len(left) != 0 || len(l.reply.result.Tasks) != 1 {
		t.Errorf("planned again: %d open, reply %+v", len(left), l.reply)
	}
}

func TestAClientTokenInFlightIsAnsweredFirst(t *testing.T) {
	s := newTestScheduler(t, 8)
	request := s.request(1)
	request.ClientToken, request.RequestHash = "t", "h"
	ahead := s.planOne(request)

	answer := make(chan spec.RunResult)
	go func() { answer <- s.run(request) }()
	s.apply(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{newLaunch(request, ahead.tasks(), nil, epoch)}})
	ahead.plan.resolve(ahead.tasks())
	if result := <-answer; len(result.Tasks) != 1 || result.Tasks[0].ID != ahead.tasks()[0].ID {
		t.Errorf("the retry started %+v, the first was %s", result.Tasks, ahead.tasks()[0].ID)
	}
}

func TestAnEntryStaysSmall(t *testing.T) {
	s := newTestScheduler(t, 0)
	request := s.request(0)
	request.Count = maxEntryTasks / 2
	before := s.node.entries()
	for i, reply := range s.runBatch([]spec.RunRequest{request, request, request}) {
		if reply.err != nil || len(reply.result.Tasks) != request.Count {
			t.Errorf("run %d: %d tasks, %v", i, len(reply.result.Tasks), reply.err)
		}
	}
	if entries := s.node.entries() - before; entries != 2 {
		t.Errorf("%d tasks went into %d entries, want 2", 3*request.Count, entries)
	}
}

// The planner knows what images hosts have when it is made, and learns it again with what it hears of hosts.
func TestATaskGoesToTheHostThatHasItsImage(t *testing.T) {
	s := newTestScheduler(t, 1)
	request := s.request(0)
	request.Cluster = "twins"
	s.apply(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "twins", Status: spec.ClusterActive}})
	for _, id := range []string{"a", "b"} {
		s.apply(raftfsm.PutHost{Host: spec.Host{ID: id, Name: id, Cluster: "twins", Status: spec.HostActive, CPU: 1024, MemoryMiB: 1024}})
	}
	held := &blob.Images{List: []blob.Image{{Name: "docker.io/pinion/self:latest", Digest: "sha256:1"}}}
	s.planner().mu.Lock()
	s.planner().known.Images = func(host string) *blob.Images {
		if host == "b" {
			return held
		}
		return nil
	}
	s.planner().follower.Reset()
	s.planner().mu.Unlock()
	if result := s.run(request); len(result.Tasks) != 1 || result.Tasks[0].HostID != "b" {
		t.Errorf("its image is on b: %+v", result)
	}
}
