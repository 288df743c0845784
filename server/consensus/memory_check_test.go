package consensus

import (
	"errors"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/alarm"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// While the memory is full nothing is added to it, and what takes away from it goes on.
func TestBeyondItsMemoryTheStateOnlyShrinks(t *testing.T) {
	cfg, full := config(t.TempDir()), false
	cfg.CheckMemory = func(*raftfsm.View) error {
		if full {
			return spec.ErrStateFull
		}
		return nil
	}
	n := start(t, cfg)
	definition := raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "d", Containers: []spec.ContainerDefinition{{Name: "c"}}}}
	if _, err := n.Propose(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	full = true
	tag := []spec.Tag{{Key: "k", Value: "v"}}
	for _, adds := range []raftfsm.Command{
		definition, raftfsm.LaunchTasks{}, raftfsm.CreateService{}, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "c"}},
		raftfsm.UpdateService{Change: service.Change{Revision: &service.Revision{}}}, raftfsm.StepService{Starts: []*spec.Task{{ID: "t"}}},
		raftfsm.Wrap(scaling.ChangeTarget{Change: scaling.Change{PutPolicy: &scaling.Policy{}}}), raftfsm.SetTags{Kind: spec.ResourceDefinition, ID: "d:1", Put: tag},
		raftfsm.Wrap(loggroup.Create{Group: loggroup.Group{Name: "g", CreatedAt: day0}}),
		raftfsm.Wrap(taskset.Create{}), raftfsm.Wrap(alarm.Put{}),
	} {
		if _, err := n.Propose(t.Context(), adds); !errors.Is(err, spec.ErrStateFull) || !errors.Is(err, spec.ErrUnavailable) {
			t.Errorf("%T: %v", adds, err)
		}
	}
	for _, takes := range []raftfsm.Command{
		raftfsm.SetTags{Kind: spec.ResourceDefinition, ID: "d:1", Remove: []string{"k"}}, raftfsm.DeregisterDefinition{Name: "d:1", At: day0},
		raftfsm.DeleteDefinitions{Names: []string{"d:1"}, At: day0}, raftfsm.Reap{},
	} {
		if _, err := n.Propose(t.Context(), takes); err != nil {
			t.Errorf("%T: %v", takes, err)
		}
	}
	full = false
	if _, err := n.Propose(t.Context(), definition); err != nil {
		t.Error(err)
	}
}
