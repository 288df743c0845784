package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
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
	endTask(t, p, now)
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

// reapProposer tells the time of the test's bubble, and counts the reaps that it records.
type reapProposer struct {
	memProposer
	reaps []raftfsm.Reap
}

func (p *reapProposer) Now() time.Time { return time.Now() }

func (p *reapProposer) Propose(ctx context.Context, c raftfsm.Command) (any, error) {
	p.reaps = append(p.reaps, c.(raftfsm.Reap))
	return p.memProposer.Propose(ctx, c)
}

// Each reap is an entry of the log: one is recorded when something has expired, within a minute, and one an hour for the client tokens.
func TestTheReaperRecordsNothingWhileNothingHasExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &reapProposer{memProposer: memProposer{state: raftfsm.NewState()}}
		endTask(t, &p.memProposer, time.Now().Add(-stoppedRetention/2))
		ctx, end := context.WithCancel(t.Context())
		loop := make(chan struct{})
		go func() {
			defer close(loop)
			NewReaper(p, slog.New(slog.DiscardHandler)).Loop(ctx)
		}()
		for _, at := range []struct {
			passed time.Duration
			reaps  int
			gone   bool
		}{
			{29 * time.Minute, 0, false},
			{3 * time.Minute, 1, true},
			{55 * time.Minute, 1, true},
			{10 * time.Minute, 2, true},
		} {
			time.Sleep(at.passed)
			synctest.Wait()
			if gone := p.state.View().Task("t") == nil; len(p.reaps) != at.reaps || gone != at.gone {
				t.Errorf("after %v more: %d reaps, and the task gone: %v; want %d, %v", at.passed, len(p.reaps), gone, at.reaps, at.gone)
			}
		}
		end()
		<-loop
	})
}

// endTask records the task "t", which stops then.
func endTask(t *testing.T, p *memProposer, then time.Time) {
	t.Helper()
	task := &spec.Task{ID: "t", Cluster: spec.DefaultCluster, Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running}
	for _, c := range []raftfsm.Command{
		raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c"}}}},
		raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}},
		raftfsm.StopTask{ID: "t", At: then},
	} {
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
}

// However many tasks end, the state remembers so many of them, the last. What ended a moment ago is there in any case: servers have yet to write it
// into their histories.
func TestSoManyStoppedTasksAreRemembered(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &memProposer{state: raftfsm.NewState(), now: now}
	do := func(c raftfsm.Command) {
		t.Helper()
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c"}}}})
	const most, more, batch = 2_000, 10, 1000
	for first := 0; first < most+more; first += batch {
		var tasks []*spec.Task
		for n := first; n < min(first+batch, most+more); n++ {
			tasks = append(tasks, &spec.Task{ID: fmt.Sprintf("%032d", n), Cluster: spec.DefaultCluster, Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running})
		}
		do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: tasks}}})
		for n, task := range tasks {
			do(raftfsm.StopTask{ID: task.ID, At: now.Add(time.Duration(first+n) * time.Microsecond)})
		}
	}
	reaper := &Reaper{p, slog.New(slog.DiscardHandler), most}
	left := func(at time.Duration) int {
		t.Helper()
		if err := reaper.Reap(t.Context(), now.Add(at)); err != nil {
			t.Fatal(err)
		}
		return len(p.state.View().Tasks(spec.DefaultCluster))
	}
	if n := left(minRetention); n != most+more {
		t.Errorf("%d are left of those that ended a moment ago", n)
	}
	if n := left(minRetention + time.Minute); n != most || p.state.View().Task(fmt.Sprintf("%032d", more)) == nil {
		t.Errorf("%d are left", n)
	}
	if n := left(stoppedRetention + time.Minute); n != 0 {
		t.Errorf("%d are left after the hour", n)
	}
}
