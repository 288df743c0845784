package scheduler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// A full queue takes tasks again as soon as others have left it.
func TestSoManyTasksWaitAndNoMore(t *testing.T) {
	state := raftfsm.NewState()
	index := uint64(0)
	do := func(c raftfsm.Command) {
		t.Helper()
		index++
		if _, err := state.Apply(index, c); err != nil {
			t.Fatal(err)
		}
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c"}}}})
	first, b := new(term), &pendingLimit{max: 4}
	for i, step := range []struct {
		name  string
		term  *term
		tasks int  // of one run, with an id of the step each
		full  bool // they are refused
		stops string
	}{
		{"the first", first, 3, false, ""},
		{"too many", first, 2, true, ""},
		{"as many as there is room for", first, 1, false, ""},
		{"one more", first, 1, true, "0-1"},
		{"when one has left", first, 1, false, ""},
		{"a new leader counts", &term{}, 1, true, ""},
	} {
		b.reset(step.term, state.View())
		err := b.reserve(spec.DefaultCluster, step.tasks)
		if full := errors.Is(err, spec.ErrQueueFull); full != step.full {
			t.Errorf("%s: %v", step.name, err)
		}
		if again := b.reserve("lab", 1); again != nil {
			t.Errorf("%s: another cluster: %v", step.name, again)
		}
		for n := range step.tasks {
			if step.full {
				break
			}
			task := &spec.Task{ID: fmt.Sprintf("%d-%d", i, n), Cluster: spec.DefaultCluster, Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running}
			do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
		}
		if step.stops != "" {
			do(raftfsm.StopTask{ID: step.stops, At: time.Unix(1, 0)})
		}
	}
}
