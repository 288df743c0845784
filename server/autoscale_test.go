package server

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// Batch tasks fill what a service leaves: they give way when it is scaled out, wait, and come back when it is scaled in.
func TestBatchTasksGiveWayToAServiceAndComeBack(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 6)
	defer hostOfTest(t, s)()
	definition := define(t, s, 1)
	newService(t, s, definition, 1, service.Replica)
	apply(t, s, raftfsm.SetTags{Kind: spec.ResourceService, ID: "svc", Put: []spec.Tag{{Key: spec.TagPriority, Value: "10"}}})
	untilSteady(t, s, definition, 1)
	for range 5 {
		run(t.Context(), t, s, queuedRun(definition, tag(spec.TagPreemptible, "true")))
	}
	untilBatch(t, s, 5, 0)
	least, most := 1, 6
	scale := func(c scaling.Change) {
		t.Helper()
		apply(t, s, raftfsm.Wrap(scaling.ChangeTarget{Cluster: spec.DefaultCluster, Service: "web", Change: c, ID: "a", At: s.cfg.Now()}))
	}
	scale(scaling.Change{Register: &scaling.Registration{Min: &least, Max: &most}})
	scale(scaling.Change{Scale: &scaling.Decision{From: 1, To: 6, Cause: "busy"}})
	untilSteady(t, s, definition, 6)
	untilBatch(t, s, 0, 5)
	scale(scaling.Change{Scale: &scaling.Decision{From: 6, To: 1, Cause: "idle"}})
	untilSteady(t, s, definition, 1)
	untilBatch(t, s, 5, 0)
}

// untilBatch waits until so many tasks that are of no service run and wait.
func untilBatch(t *testing.T, s *Server, running, waiting int) {
	t.Helper()
	until(t, s, func(v *raftfsm.View) bool {
		counts := map[spec.Status]int{}
		for _, task := range v.Tasks(spec.DefaultCluster) {
			if task.Service == nil && task.DesiredStatus != spec.Stopped {
				counts[task.LastStatus]++
			}
		}
		return counts[spec.Running] == running && counts[spec.Provisioning] == waiting
	})
}
