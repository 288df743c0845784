package orchestrator

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// memProposer applies what is proposed to a state in memory, one after the other.
type memProposer struct {
	mu    sync.Mutex
	state *raftfsm.State
	index uint64
	now   time.Time
}

func (p *memProposer) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.index++
	return p.state.Apply(p.index, c)
}
func (p *memProposer) State() *raftfsm.State { return p.state }
func (p *memProposer) Now() time.Time        { return p.now }

func TestStoppedTasksAreForgottenAfterAnHour(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &memProposer{state: raftfsm.NewState(), now: now}
	task := &spec.Task{ID: "t", Cluster: spec.DefaultCluster, Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running}
	for _, c := range []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c"}}}},
		raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}},
		raftfsm.StopTask{ID: "t", At: now},
	} {
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	reaper := NewReaper(p, slog.New(slog.DiscardHandler))
	if p.state.View().HasExpired(raftfsm.Reap{Before: now}) {
		t.Error("the task has expired before its hour")
	}
	if err := reaper.Reap(t.Context(), now.Add(stoppedRetention)); err != nil || p.state.View().Task("t") == nil {
		t.Errorf("forgotten within the hour (%v)", err)
	}
	later := now.Add(stoppedRetention + time.Second)
	if !p.state.View().HasExpired(raftfsm.Reap{Before: later.Add(-stoppedRetention)}) {
		t.Error("nothing has expired after an hour")
	}
	if err := reaper.Reap(t.Context(), later); err != nil || p.state.View().Task("t") != nil {
		t.Errorf("still there after the hour (%v)", err)
	}
}
