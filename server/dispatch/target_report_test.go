package dispatch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// The leader says since when a target is as it is, and a report that says the same again changes nothing.
func TestTheLeaderStampsTargets(t *testing.T) {
	first, later := time.Unix(100, 0), time.Unix(200, 0)
	task := &spec.Task{ID: "t", LastStatus: spec.Running, DesiredStatus: spec.Running}
	known := func(string) *spec.Task { return task }
	report := func(health traffic.TargetState, at time.Time) {
		reports := []spec.TaskReport{{TaskID: "t", Targets: []traffic.TargetHealth{{Group: "g", Container: "web", Port: 80, State: health, Since: time.Unix(1, 0)}}}}
		stampTargets(known, reports, at)
		task = task.WithReport(reports[0])
	}
	for _, step := range []struct {
		health traffic.TargetState
		at     time.Time
		since  time.Time
	}{
		{traffic.Healthy, first, first},
		{traffic.Healthy, later, first},
		{traffic.Unhealthy, later, later},
	} {
		report(step.health, step.at)
		if h := traffic.FindHealth(task.Targets, "g", "web", 80); h.State != step.health || !h.Since.Equal(step.since) || len(task.Targets) != 1 {
			t.Errorf("%+v", task.Targets)
		}
	}
}

// The state keeps what was found of each target of a task: a host that makes up others in every report does not fill it.
func TestAHostReportsTheTargetsThatItsTasksAre(t *testing.T) {
	b, state := newBackend(t)
	task := &spec.Task{ID: "t", Cluster: "default", Definition: "f:1", HostID: "mine", LastStatus: spec.Running, DesiredStatus: spec.Running, Service: &spec.ServiceMember{ID: "s", Deployment: "1"}}
	for _, c := range []raftfsm.Command{
		raftfsm.CreateService{Service: service.Service{ID: "s", Cluster: "default", Name: "web", Strategy: service.Replica, Desired: 1}, Rollout: service.Rollout{ID: "1"},
			Revision: service.Revision{ID: "1", Definition: "f:1", LoadBalancers: []service.LoadBalancer{{Group: "g", Container: "c", Port: 80}},
				Connect: &service.Connect{Namespace: "default", Endpoints: []service.Endpoint{{PortName: "llm", Container: "c", Port: 80}}}}},
		raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{task}}}},
	} {
		if _, err := b.server.Propose(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		made := traffic.TargetHealth{Group: fmt.Sprint("made up ", i), Container: "c", Port: 80, State: traffic.Healthy}
		own := traffic.TargetHealth{Group: "g", Container: "c", Port: 80, State: traffic.Unhealthy, Detail: strings.Repeat("x", 1<<20)}
		named := traffic.TargetHealth{Group: "llm.default", Container: "c", Port: 80, State: traffic.Healthy}
		for _, id := range []string{"t", "mine"} {
			if _, err := b.Report(t.Context(), "mine", []spec.TaskReport{{TaskID: id, Status: spec.Running, Targets: []traffic.TargetHealth{made, own, named}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	got := state.View().Task("t").Targets
	if len(got) != 2 || got[0].Group != "g" || got[0].State != traffic.Unhealthy || len(got[0].Detail) != maxTextBytes || got[1].Group != "llm.default" {
		t.Errorf("of two targets %d are recorded", len(got))
	}
	if got := state.View().Task("mine").Targets; len(got) != 0 {
		t.Errorf("a task of no service has %d targets", len(got))
	}
}
