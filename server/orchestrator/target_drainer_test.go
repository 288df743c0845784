package orchestrator

import (
	"log/slog"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// A task has drained when each of its targets has; a task that is not to stop never has.
func TestTasksDrainWithAllOfTheirTargets(t *testing.T) {
	p := &memProposer{state: raftfsm.NewState()}
	do := func(c raftfsm.Command) {
		t.Helper()
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	do(raftfsm.PutHost{Host: spec.Host{ID: "h", Address: "h:7400", CPU: 1024, MemoryMiB: 1024}})
	do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c"}}}})
	task := func(id string, stop bool) {
		task := &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running}
		do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
		do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: id, HostID: "h"}}}})
		do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: id, Status: spec.Running, Targets: []traffic.TargetHealth{{Group: "g", State: traffic.Healthy}}}}})
		if stop {
			do(raftfsm.StopTask{ID: id})
		}
	}
	task("one", true)
	task("two", true)
	task("runs", false)
	id := func(task string, port int) string {
		return traffic.TargetID{Group: "g", Task: task, Container: "c", Port: port}.String()
	}
	routing := traffic.Routing{Groups: []traffic.Group{{ID: "g"}}}
	for _, target := range []string{id("one", 1), id("one", 2), id("two", 1), id("runs", 1)} {
		routing.Groups[0].Targets = append(routing.Groups[0].Targets, traffic.Target{ID: target})
	}
	var drained []string
	d := TargetDrainer{Proposer: p, Routing: func() traffic.Routing { return routing }, Drained: func() []string { return drained }, Log: slog.New(slog.DiscardHandler)}
	for _, step := range []struct{ drained, want []string }{
		{nil, nil},
		{[]string{id("one", 1), id("runs", 1)}, nil},
		{[]string{id("one", 1), id("one", 2)}, []string{"one"}},
		{[]string{id("gone", 1), id("one", 1), id("one", 2), id("two", 1)}, []string{"one", "two"}},
	} {
		drained = step.drained
		if err := d.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, known := range p.State().View().Tasks("") {
			if known.Drained {
				got = append(got, known.ID)
			}
		}
		if !slices.Equal(got, step.want) {
			t.Errorf("%v: %v, want %v", step.drained, got, step.want)
		}
	}
}
