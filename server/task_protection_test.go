package server

import (
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/orchestrator"
)

// No host protects a task for longer than ECS does: its service could never replace it.
func TestAHostProtectsNoTaskForEver(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	newService(t, s, define(t, s, 1), 1, service.Replica)
	var task *spec.Task
	until(t, s, func(v *raftfsm.View) bool {
		for _, task = range v.ServiceTasks("svc") {
			return hasPlace(task)
		}
		return false
	})
	const longest = 2880 * time.Minute
	for span, want := range map[time.Duration]time.Duration{time.Hour: time.Hour, 100 * 365 * 24 * time.Hour: longest} {
		now := s.cfg.Now()
		if _, err := orchestrator.ProtectTask(t.Context(), s.node, hostID, task.ID, new(now.Add(span))); err != nil {
			t.Fatal(err)
		}
		got := view(t, s).Task(task.ID).ProtectedUntil.Get()
		if got.Before(now.Add(want)) || got.After(s.cfg.Now().Add(want)) {
			t.Errorf("asked for %v from %s, it is protected until %s", span, now, got)
		}
	}
}
