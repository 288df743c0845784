package server

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// hostOfTest has the host of the test run what it is assigned, until the returned function is called: tasks start at once and stop when they are asked to.
func hostOfTest(t testing.TB, s *Server) (leave func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		beat := time.NewTicker(200 * time.Millisecond)
		defer beat.Stop()
		for ctx.Err() == nil {
			assigned, changed := s.state.View().Assignments(hostID)
			for _, a := range assigned {
				if report := reportOn(a.Task, s.cfg.Now()); report.TaskID != "" {
					_, _ = s.agents.Report(ctx, hostID, []spec.TaskReport{report}) // a leader that goes takes none: the next assignment asks again
				}
			}
			select {
			case <-changed:
			case <-beat.C:
				_ = s.agents.Heartbeat(ctx, hostID, nil)
			case <-ctx.Done():
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// reportOn is what a host says of a task next, nothing when that is known.
func reportOn(t *spec.Task, now time.Time) spec.TaskReport {
	switch {
	case t.DesiredStatus == spec.Stopped:
		return spec.TaskReport{TaskID: t.ID, Status: spec.Stopped, Times: spec.TaskTimes{ExecutionStopped: now, Stopped: now}}
	case t.LastStatus == spec.Pending:
		return spec.TaskReport{TaskID: t.ID, Status: spec.Running, Times: spec.TaskTimes{Started: now}}
	}
	return spec.TaskReport{}
}

// newService records service web of a definition; its tasks are healthy when they run.
func newService(t testing.TB, s *Server, definition string, desired int, strategy service.Strategy) {
	t.Helper()
	apply(t, s, raftfsm.CreateService{
		Service: service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web", Strategy: strategy, Desired: desired, CreatedAt: s.cfg.Now(),
			Tags: []spec.Tag{{Key: service.TagHealthyAfter, Value: "0s"}}},
		Revision: service.Revision{ID: "1", Definition: definition}, Rollout: service.Rollout{ID: "1", CreatedAt: s.cfg.Now()},
	})
}

func updateService(t testing.TB, s *Server, c service.Change) {
	t.Helper()
	apply(t, s, raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "web", Change: c, At: s.cfg.Now()})
}

// untilSteady waits until the service has so many tasks of a definition, all of them running, and nothing else.
func untilSteady(t testing.TB, s *Server, definition string, tasks int) {
	t.Helper()
	until(t, s, func(v *raftfsm.View) bool {
		web, running := v.Service(spec.DefaultCluster, "web"), 0
		all := v.ServiceTasks("svc")
		for _, task := range all {
			if task.LastStatus == spec.Running && task.Definition == definition {
				running++
			}
		}
		return running == tasks && len(all) == tasks && !web.Conditions.Steady.IsZero() && len(web.Deployments) == 1
	})
}

// A service on a real server: it gets its tasks, is scaled, goes to another revision while the leader changes and the old definition is gone already, and is deleted.
func TestAServiceLivesThroughAChangeOfLeaders(t *testing.T) {
	cfg := config(t.TempDir())
	s := start(t, cfg)
	joinWith(t, s, 16)
	leave := hostOfTest(t, s)
	first := define(t, s, 1)
	newService(t, s, first, 3, service.Replica)
	untilSteady(t, s, first, 3)
	updateService(t, s, service.Change{Desired: new(5)})
	untilSteady(t, s, first, 5)
	second := define(t, s, 1)
	apply(t, s, raftfsm.DeregisterDefinition{Name: first, At: s.cfg.Now()})
	updateService(t, s, service.Change{Revision: &service.Revision{ID: "2", Definition: second}, Rollout: &service.Rollout{ID: "2", CreatedAt: s.cfg.Now()}})
	leave()
	stop(t, s)
	s = start(t, cfg)
	defer hostOfTest(t, s)()
	untilSteady(t, s, second, 5)
	if r := view(t, s).ServiceRollout("2"); r.Status != service.RolloutSuccessful {
		t.Errorf("%+v", r)
	}
	apply(t, s, raftfsm.DeleteService{Cluster: spec.DefaultCluster, Name: "web", Force: true, At: s.cfg.Now()})
	until(t, s, func(v *raftfsm.View) bool {
		return v.Service(spec.DefaultCluster, "web").Status == service.Inactive && len(v.ServiceTasks("svc")) <= 5
	})
	for _, task := range view(t, s).ServiceTasks("svc") {
		if task.LastStatus != spec.Stopped {
			t.Errorf("it has ended, and task %s is %s", task.ID, task.LastStatus)
		}
	}
}

// A task that is stopped is replaced, once, and nobody else tries its work again.
func TestAServiceReplacesATaskOnce(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 4)
	defer hostOfTest(t, s)()
	definition := define(t, s, 1)
	newService(t, s, definition, 2, service.Replica)
	untilSteady(t, s, definition, 2)
	gone := view(t, s).ServiceTasks("svc")[0]
	apply(t, s, raftfsm.StopTask{ID: gone.ID, Code: spec.StopPreempted, Reason: "for another", At: s.cfg.Now()})
	until(t, s, func(v *raftfsm.View) bool { return v.Task(gone.ID).Service.Noted })
	untilSteady(t, s, definition, 2)
	if all := view(t, s).Tasks(spec.DefaultCluster); len(all) != 3 {
		t.Errorf("%d tasks were made for 2 and a replacement", len(all))
	}
}

// A DAEMON gets its task on the host that it is meant for.
func TestADaemonRunsOnEachHost(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	other := *view(t, s).Host(hostID)
	other.ID, other.Name, other.GPUs.Devices = fmt.Sprintf("%032x", 7), "two", nil
	apply(t, s, raftfsm.PutHost{Host: other})
	defer hostOfTest(t, s)()
	definition := define(t, s, 1)
	newService(t, s, definition, 0, service.Daemon)
	untilSteady(t, s, definition, 1)
	if web, tasks := view(t, s).Service(spec.DefaultCluster, "web"), view(t, s).ServiceTasks("svc"); web.Desired != 1 || tasks[0].HostID != hostID || tasks[0].Service.Host != hostID {
		t.Errorf("desired %d, %+v: the other host has no GPU and could never run it", web.Desired, tasks[0])
	}
}

// Where every GPU is in use, the new task waits; when it has had its time in the queue, an old one makes room for it.
func TestARolloutOnAFullHostStopsFirst(t *testing.T) {
	s := start(t, config(t.TempDir()))
	joinWith(t, s, 1)
	defer hostOfTest(t, s)()
	first := define(t, s, 1)
	newService(t, s, first, 1, service.Replica)
	untilSteady(t, s, first, 1)
	second := define(t, s, 1)
	updateService(t, s, service.Change{Revision: &service.Revision{ID: "2", Definition: second}, Rollout: &service.Rollout{ID: "2", CreatedAt: s.cfg.Now()}})
	untilSteady(t, s, second, 1)
	for _, e := range view(t, s).Service(spec.DefaultCluster, "web").Events {
		if e.Action == service.ActionNotPlaced {
			t.Errorf("it makes room itself, and says %q", e.Message)
		}
	}
}
