package orchestrator

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/metrics"
)

// scaledService is service s0 of one desired task, which is scaled between 0 and 6.
func scaledService(t *testing.T) (*memProposer, *Autoscaler) {
	p := serviceHistory(t, 1, nil, 1)
	s := *p.state.View().ServiceByID("s0")
	over := p.state.View().ServiceRollout("s0").End(service.RolloutSuccessful, "", p.now)
	p.do(t, raftfsm.StepService{ServiceID: "s0", Version: s.Version, Service: s, Rollouts: []service.Rollout{*over}})
	p.change(t, scaling.Change{Register: &scaling.Registration{Min: new(int), Max: ptr(6)}})
	return p, NewAutoscaler(p, metrics.NewStore(), slog.New(slog.DiscardHandler))
}

func ptr[T any](v T) *T { return &v }

func (p *memProposer) change(t *testing.T, c scaling.Change) {
	t.Helper()
	p.do(t, raftfsm.ChangeScaling{Cluster: spec.DefaultCluster, Service: "s0", Change: c, ID: fmt.Sprint(p.index), At: p.now})
}

// pass lets time go by in the steps of the loop, and returns the desired count then.
func (p *memProposer) pass(t *testing.T, a *Autoscaler, span time.Duration) int {
	t.Helper()
	for range span / scaleInterval {
		p.now = p.now.Add(scaleInterval)
		a.sample()
		a.Scale(t.Context())
	}
	return p.state.View().ServiceByID("s0").Desired
}

func (p *memProposer) queue(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		task := &spec.Task{ID: fmt.Sprint("q", i), Cluster: spec.DefaultCluster, Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running}
		p.do(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
	}
}

var byQueue = scaling.Policy{ID: "p", Name: "load", Tracking: scaling.Tracking{Target: "2", Metric: scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.QueueDepth)}}}

func TestAServiceFollowsTheQueue(t *testing.T) {
	p, a := scaledService(t)
	p.change(t, scaling.Change{PutPolicy: &byQueue})
	p.queue(t, 7)
	if got := p.pass(t, a, scaleInterval); got != 4 {
		t.Fatalf("%d tasks for a queue of 7", got)
	}
	s, target := p.state.View().ServiceByID("s0"), raftfsm.ScalableTarget(p.state.View(), "s0")
	want := "waiting tasks of the cluster per replica 7 of 2: 1 -> 4, policy load"
	if last := s.Events[len(s.Events)-1]; !strings.Contains(last.Message, want) || target.Activity(last.ID).Cause != want {
		t.Errorf("%+v, %+v", last, target.Activities)
	}
	for i := range 7 {
		p.do(t, raftfsm.StopTask{ID: fmt.Sprint("q", i), At: p.now})
	}
	if got := p.pass(t, a, 4*time.Minute); got != 4 {
		t.Errorf("%d before the window is over", got)
	}
	if got := p.pass(t, a, 2*time.Minute); got != 0 {
		t.Errorf("%d with nothing to do", got)
	}
	p.change(t, scaling.Change{DeletePolicy: "load"})
	if p.pass(t, a, scaleInterval); len(a.series) != 0 {
		t.Errorf("series are kept that nobody follows: %d", len(a.series))
	}
}

func TestARequestThatWaitsStartsATask(t *testing.T) {
	p, a := scaledService(t)
	p.do(t, raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "s0", Change: service.Change{Desired: new(int)}})
	if got := p.pass(t, a, time.Minute); got != 0 {
		t.Fatalf("%d for nobody", got)
	}
	a.metrics.Put("h", metric.Report{Waiting: []metric.Waiting{{ServiceID: "s0", Requests: 2}}}, p.now)
	<-a.metrics.Waiting()
	if a.Scale(t.Context()); p.state.View().ServiceByID("s0").Desired != 1 {
		t.Error("it goes on waiting")
	}
}

func TestScheduledActionsAreCarriedOutOnce(t *testing.T) {
	p, a := scaledService(t) // at 03:04:05
	p.change(t, scaling.Change{PutAction: &scaling.ScheduledAction{ID: "1", Name: "day", Schedule: "cron(6 3 * * ? *)", Min: ptr(3)}})
	p.change(t, scaling.Change{PutAction: &scaling.ScheduledAction{ID: "2", Name: "night", Schedule: "cron(8 3 * * ? *)", Min: ptr(0), Max: ptr(1)}})
	if got := p.pass(t, a, time.Minute); got != 1 {
		t.Errorf("%d before the day", got)
	}
	if got := p.pass(t, a, time.Minute); got != 3 {
		t.Errorf("%d by day", got)
	}
	before := p.index
	if p.pass(t, a, time.Minute); p.index != before {
		t.Error("it is carried out again")
	}
	if got := p.pass(t, a, 2*time.Minute); got != 1 {
		t.Errorf("%d at night", got)
	}
	p.change(t, scaling.Change{Register: &scaling.Registration{Scheduled: ptr(true)}})
	if got := p.pass(t, a, 24*time.Hour); got != 1 {
		t.Errorf("%d, though suspended", got)
	}
}

// A replica counts that was measured and runs.
func TestMeasuresOfAServiceAreThoseOfItsRunningTasks(t *testing.T) {
	p, _ := scaledService(t)
	s := NewServices(p, everywhere, slog.New(slog.DiscardHandler))
	p.settle(t, s)
	task := p.state.View().ServiceTasks("s0")[0]
	sums := map[metrics.Key]float64{{TaskID: task.ID, Source: "m"}: 7, {TaskID: "other", Source: "m"}: 9}
	target := raftfsm.ScalableTarget(p.state.View(), "s0")
	if sample, measured := measure(p.state.View(), target, "m", sums, nil); measured {
		t.Errorf("it waits, and was measured: %+v", sample)
	}
	p.do(t, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: task.ID, HostID: "h"}}}})
	p.do(t, raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: task.ID, Status: spec.Running}}})
	for name, want := range map[metric.Name]float64{metric.CPU: 350, metric.Memory: 0} { // of 2 units, and of no memory
		reserved := *p.state.View().Task(task.ID)
		reserved.CPU, reserved.MemoryMiB = 2, 0
		if got, known := utilization(&reserved, name, 7); known != (want > 0) || known && got != want {
			t.Errorf("%s: %v %v", name, got, known)
		}
	}
	if sample, _ := measure(p.state.View(), target, "m", sums, nil); sample.Total != 7 || sample.Count != 1 {
		t.Errorf("%+v", sample)
	}
}
