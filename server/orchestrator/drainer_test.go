package orchestrator

import (
	"log/slog"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// drainHistory is a host with a task of each kind, all running, that is drained with them.
func drainHistory(t *testing.T, drain *spec.HostDrain) *memProposer {
	p := &memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	do := func(c raftfsm.Command) {
		t.Helper()
		if _, err := p.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	do(raftfsm.PutHost{Host: spec.Host{ID: "h", Name: "gpu-1", Cluster: spec.DefaultCluster, CPU: 9999, MemoryMiB: 9999}})
	minute := 60
	do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c", StopTimeout: &minute}}}})
	for id, tags := range map[string][]spec.Tag{"plain": nil, "retried": {{Key: spec.TagRetries, Value: "1"}}, "preemptible": {{Key: spec.TagPreemptible, Value: "true"}}} {
		task := &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: "f:1", HostID: "h", LastStatus: spec.Pending, DesiredStatus: spec.Running, Tags: tags}
		do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
		do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: id, Status: spec.Running}}})
	}
	do(raftfsm.SetHostStatus{ID: "h", Status: spec.HostDraining, Drain: drain})
	return p
}

// reconcile is one look of a drainer at the tasks, so long after the drain began.
func (p *memProposer) reconcile(t *testing.T, d *Drainer, began time.Time, after time.Duration) {
	t.Helper()
	p.now = began.Add(after)
	if err := d.Reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestADrainEndsTasksAtItsDeadlineAtTheLatest(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := drainHistory(t, &spec.HostDrain{At: began.Add(30 * time.Minute), After: 30 * time.Minute, Kill: true})
	log := slog.New(slog.DiscardHandler)
	first := NewDrainer(p, log)
	p.reconcile(t, first, began, 0)
	p.reconcile(t, first, began, 28*time.Minute)
	if task := p.state.View().Task("plain"); task.DesiredStatus != spec.Running {
		t.Fatalf("stopped too early: %+v", task)
	}
	next := NewDrainer(p, log) // of another leader
	p.reconcile(t, next, began, 29*time.Minute)
	for id, code := range map[string]spec.StopCode{"plain": spec.StopScheduler, "retried": spec.StopPreempted, "preemptible": spec.StopPreempted} {
		if task := p.state.View().Task(id); task.DesiredStatus != spec.Stopped || task.StopCode != code || task.StoppedReason == "" || task.ForceStop {
			t.Errorf("a minute before, which is its stop timeout: %+v", task)
		}
	}
	index := p.index
	p.reconcile(t, next, began, 29*time.Minute+time.Second)
	if p.index != index {
		t.Error("it is stopped again and again")
	}
	p.reconcile(t, next, began, 30*time.Minute)
	if task := p.state.View().Task("plain"); !task.ForceStop {
		t.Errorf("at the deadline: %+v", task)
	}
	index = p.index
	p.reconcile(t, next, began, 31*time.Minute)
	if p.index != index {
		t.Error("it is killed again and again")
	}
}

// A leader whose clock is behind does not make a drain longer than it was.
func TestADrainIsNoLongerByTheClockOfTheNextLeader(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := drainHistory(t, &spec.HostDrain{At: began.Add(30 * time.Minute), After: 30 * time.Minute, Kill: true})
	next, behind := NewDrainer(p, slog.New(slog.DiscardHandler)), began.Add(-48*time.Hour)
	p.reconcile(t, next, behind, 0)
	p.reconcile(t, next, behind, 30*time.Minute)
	if task := p.state.View().Task("plain"); !task.ForceStop {
		t.Errorf("%+v", task)
	}
}

func TestADrainWithoutADeadlineLeavesTasksTheirStopTimeouts(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := drainHistory(t, &spec.HostDrain{At: began})
	d := NewDrainer(p, slog.New(slog.DiscardHandler))
	for _, after := range []time.Duration{0, time.Hour} {
		p.reconcile(t, d, began, after)
		if task := p.state.View().Task("plain"); task.DesiredStatus != spec.Stopped || task.ForceStop {
			t.Errorf("after %v: %+v", after, task)
		}
	}
	if _, err := p.Propose(t.Context(), raftfsm.SetHostStatus{ID: "h", Status: spec.HostActive}); err != nil || p.state.View().Host("h").Drain != nil {
		t.Errorf("an active host is drained still: %v", err)
	}
}

func TestTheDrainOfARemovedHostIsForgotten(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := drainHistory(t, &spec.HostDrain{At: began})
	d := NewDrainer(p, slog.New(slog.DiscardHandler))
	p.reconcile(t, d, began, 0)
	if _, err := p.Propose(t.Context(), raftfsm.RemoveHost{ID: "h", Force: true, At: began}); err != nil || len(d.seen) != 1 {
		t.Fatal(err, d.seen)
	}
	if p.reconcile(t, d, began, time.Second); len(d.seen) > 0 {
		t.Errorf("%v", d.seen)
	}
}

// The deadline is the administrator's word: neither a drain without one takes it back, nor what the host says of itself.
func TestADrainIsNotForgotten(t *testing.T) {
	p := drainHistory(t, &spec.HostDrain{At: time.Unix(1, 0)})
	for _, c := range []raftfsm.Command{
		raftfsm.SetHostStatus{ID: "h", Status: spec.HostDraining},
		raftfsm.PutHost{Host: spec.Host{ID: "h", Name: "gpu-1", Cluster: spec.DefaultCluster, CPU: 1, Drain: &spec.HostDrain{At: time.Unix(2, 0)}}},
	} {
		if _, err := p.Propose(t.Context(), c); err != nil || p.state.View().Host("h").Drain == nil || !p.state.View().Host("h").Drain.At.Equal(time.Unix(1, 0)) {
			t.Errorf("%T: %v, %+v", c, err, p.state.View().Host("h").Drain)
		}
	}
}
