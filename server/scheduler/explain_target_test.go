package scheduler

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// A running task that its load balancer finds unhealthy says so, with the name of the target group and what its host found.
func TestAnUnhealthyTargetIsExplained(t *testing.T) {
	state := raftfsm.NewState()
	if _, err := state.Apply(1, raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: "g", Name: "web"}})); err != nil {
		t.Fatal(err)
	}
	task := &spec.Task{HostID: "h", LastStatus: spec.Running, DesiredStatus: spec.Running, Targets: []traffic.TargetHealth{
		{Group: "g", Container: "main", Port: 80, State: traffic.Unhealthy, Detail: "Health checks failed with these codes: [200]"},
		{Group: "llm.default", Container: "main", Port: 81, State: traffic.Healthy},
	}}
	want := "It is placed on host h. Port 80 of container main is unhealthy in the target group web. Health checks failed with these codes: [200]."
	if got := placementSummary(state.View(), task); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
