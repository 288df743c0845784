package orchestrator

import (
	"fmt"
	"log/slog"
	"math"
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

// targetGroup is what the tasks of the scaled service are registered with.
const targetGroup = "0123456789abcdef"

// scaledService is service s0 of one desired task, which is scaled between 0 and 6.
func scaledService(t *testing.T) (*memProposer, *Autoscaler) {
	p := serviceHistory(t, 0, nil, 1)
	p.do(t, raftfsm.CreateService{
		Service: service.Service{ID: "s0", Cluster: spec.DefaultCluster, Name: "s0", Strategy: service.Replica, Desired: 1}, Rollout: service.Rollout{ID: "s0", CreatedAt: p.now},
		Revision: service.Revision{ID: "s0", Definition: "f:1", LoadBalancers: []service.LoadBalancer{{Group: targetGroup, Container: "c", Port: 80}}},
	})
	s := *p.state.View().ServiceByID("s0")
	over := p.state.View().ServiceRollout("s0").End(service.RolloutSuccessful, "", p.now)
	p.do(t, raftfsm.StepService{ServiceID: "s0", Version: s.Version, Service: s, Rollouts: []service.Rollout{*over}})
	p.change(t, scaling.Change{Register: &scaling.Registration{Min: new(int), Max: ptr(6)}})
	return p, NewAutoscaler(p, metrics.NewStore(), slog.New(slog.DiscardHandler))
}

func ptr[T any](v T) *T { return &v }

func (p *memProposer) change(t *testing.T, c scaling.Change) {
	t.Helper()
	p.do(t, raftfsm.Wrap(scaling.ChangeTarget{Cluster: spec.DefaultCluster, Service: "s0", Change: c, ID: fmt.Sprint(p.index), At: p.now}))
}

// pass lets time go by in the steps of the loop, and returns the desired count then.
func (p *memProposer) pass(t *testing.T, a *Autoscaler, span time.Duration) int {
	t.Helper()
	for range span / scaleInterval {
		p.now = p.now.Add(scaleInterval)
		a.sample()
		a.evaluate(t.Context())
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
	s, target := p.state.View().ServiceByID("s0"), scaling.Find(p.state.View(), "s0")
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

// A service that is rolled back keeps its tasks, as one that is rolled out.
func TestARollbackTakesNothingAway(t *testing.T) {
	p, a := scaledService(t)
	p.change(t, scaling.Change{PutPolicy: &byQueue})
	revision, rollout := &service.Revision{ID: "2", Definition: "f:1"}, &service.Rollout{ID: "2", CreatedAt: p.now}
	p.do(t, raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "s0", Change: service.Change{Desired: ptr(4), Revision: revision, Rollout: rollout}, At: p.now})
	rolled := *p.state.View().ServiceRollout("2")
	rolled.Status = service.RolloutRollbackInProgress
	step := func(r service.Rollout) {
		s := *p.state.View().ServiceByID("s0")
		p.do(t, raftfsm.StepService{ServiceID: "s0", Version: s.Version, Service: s, Rollouts: []service.Rollout{r}})
	}
	step(rolled)
	if got := p.pass(t, a, 20*time.Minute); got != 4 {
		t.Errorf("%d tasks during the rollback", got)
	}
	step(*rolled.End(service.RolloutRollbackSuccessful, "", p.now))
	if got := p.pass(t, a, 20*time.Minute); got != 0 {
		t.Errorf("%d tasks with nothing to do", got)
	}
}

// A request that waits for a target of a service without tasks starts one; those of other groups do not.
func TestARequestThatWaitsStartsATask(t *testing.T) {
	p, a := scaledService(t)
	p.do(t, raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "s0", Change: service.Change{Desired: new(int)}})
	a.metrics.Put("h", metric.Report{Waiting: []metric.Waiting{{Group: "other", Requests: 2}}}, p.now)
	if got := p.pass(t, a, time.Minute); got != 0 {
		t.Fatalf("%d for nobody", got)
	}
	a.metrics.Put("h", metric.Report{Waiting: []metric.Waiting{{Group: targetGroup, Requests: 2}}}, p.now)
	<-a.metrics.Waiting()
	if a.Scale(t.Context()); p.state.View().ServiceByID("s0").Desired != 1 {
		t.Error("it goes on waiting")
	}
}

// runTasks has every task of the service run on the host.
func (p *memProposer) runTasks(t *testing.T, s *Services) {
	t.Helper()
	p.reconcileAll(t, s)
	for _, task := range p.state.View().ServiceTasks("s0") {
		if task.LastStatus == spec.Provisioning {
			p.do(t, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: task.ID, HostID: "h"}}}})
			p.do(t, raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: task.ID, Status: spec.Running}}})
		}
	}
}

// sends is a report of a proxy that has so many requests in flight to each task.
func (p *memProposer) sends(each float64) (r metric.Report) {
	r.Proxy = true
	for _, task := range p.state.View().ServiceTasks("s0") {
		if each > 0 {
			r.Tasks = append(r.Tasks, metric.Task{TaskID: task.ID, Name: metric.InFlight, Group: targetGroup, Value: each})
		}
	}
	return r
}

// Requests in flight are the sum of what all proxies send. Tasks are taken away only while every proxy tells of it, so that a host that cannot be
// heard, and goes on sending, does not lose its tasks.
func TestAServiceFollowsItsRequests(t *testing.T) {
	p, a := scaledService(t)
	s := NewServices(p, everywhere, slog.New(slog.DiscardHandler))
	p.do(t, raftfsm.PutHost{Host: spec.Host{ID: "h2", Name: "gpu-2", Cluster: spec.DefaultCluster}})
	byRequests := scaling.Policy{ID: "p", Name: "load", Tracking: scaling.Tracking{Target: "4", Metric: scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.InFlight)}}}
	p.change(t, scaling.Change{PutPolicy: &byRequests})
	p.runTasks(t, s)
	follow := func(span time.Duration, each float64, hosts ...string) (desired int) {
		for range span / scaleInterval {
			for _, host := range hosts {
				a.metrics.Put(host, p.sends(each), p.now.Add(scaleInterval))
			}
			desired = p.pass(t, a, scaleInterval)
		}
		return desired
	}
	if got := follow(scaleInterval, 6, "h"); got != 2 {
		t.Errorf("%d tasks for six requests that one proxy tells of", got)
	}
	p.runTasks(t, s)
	if got := follow(6*time.Minute, 4, "h", "h2"); got != 4 {
		t.Errorf("%d tasks for sixteen requests", got)
	}
	p.runTasks(t, s)
	if got := follow(10*time.Minute, 0, "h"); got != 4 {
		t.Errorf("%d tasks while one proxy tells of nothing", got)
	}
	if got := follow(6*time.Minute, 0, "h", "h2"); got != 0 {
		t.Errorf("%d tasks without any request", got)
	}
	events := p.state.View().ServiceByID("s0").Events
	if last := events[len(events)-1].Message; !strings.Contains(last, "requests in flight per replica 0 of 4: 4 -> 0, policy load") {
		t.Error(last)
	}
}

// A stolen host says of requests and tasks what it likes. It sways its services between their capacities, and no further.
func TestWhatAHostSaysScalesWithinTheCapacities(t *testing.T) {
	p, a := scaledService(t)
	s := NewServices(p, everywhere, slog.New(slog.DiscardHandler))
	p.change(t, scaling.Change{Register: &scaling.Registration{Min: ptr(2), Max: ptr(3)}})
	byRequests := scaling.Policy{ID: "p", Name: "load", Tracking: scaling.Tracking{Target: "4", Metric: scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.InFlight)}}}
	p.change(t, scaling.Change{PutPolicy: &byRequests})
	for _, lie := range []float64{math.MaxFloat64, 0, -math.MaxFloat64, math.MaxFloat64} {
		for range 60 {
			p.runTasks(t, s)
			report := p.sends(1)
			for i := range report.Tasks {
				report.Tasks[i].Value = lie
			}
			report.Tasks = append(report.Tasks, report.Tasks...)
			report.Waiting = []metric.Waiting{{Group: targetGroup, Requests: math.MaxInt}, {Group: targetGroup, Requests: math.MaxInt}}
			a.metrics.Put("h", report, p.now.Add(scaleInterval))
			if got := p.pass(t, a, scaleInterval); got < 2 || got > 3 {
				t.Fatalf("%v in flight: %d tasks", lie, got)
			}
		}
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
	p.reconcileAll(t, s)
	task := p.state.View().ServiceTasks("s0")[0]
	sums := map[metrics.Key]float64{{TaskID: task.ID, Source: "m"}: 7, {TaskID: "other", Source: "m"}: 9}
	scaled := p.state.View().ServiceByID("s0")
	if sample, measured := sampleOf(p.state.View(), scaled, "m", measures{sums: sums}); measured {
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
	if sample, _ := sampleOf(p.state.View(), scaled, "m", measures{sums: sums}); sample.Total != 7 || sample.Count != 1 {
		t.Errorf("%+v", sample)
	}
}

// However many actions a service has, and however often they are due, those of another one are carried out.
func TestScheduledActionsOfOneServiceHoldUpNoOther(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var targets []*scaling.Target
	for s := range 6 {
		target := &scaling.Target{ServiceID: fmt.Sprint("busy", s)}
		for i := range scaling.MaxActions {
			target.Actions = append(target.Actions, scaling.ScheduledAction{Name: fmt.Sprint(i), Schedule: "rate(1 minute)", CreatedAt: now.Add(-time.Hour)})
		}
		targets = append(targets, target)
	}
	quiet := &scaling.Target{ServiceID: "quiet", Actions: []scaling.ScheduledAction{{Name: "night", Schedule: "cron(0 3 * * ? *)", CreatedAt: now.Add(-time.Hour)}}}
	targets = append(targets, quiet)
	scheduled, served := newScheduledActions(), false
	for range 3 {
		due := scheduled.due(targets, now)
		n := 0
		for _, names := range due {
			n += len(names)
		}
		if n > maxDueActions {
			t.Fatalf("%d in one round", n)
		}
		served = served || len(due[len(due)-1]) == 1
	}
	if !served {
		t.Error("the quiet service waits behind the busy ones")
	}
}
