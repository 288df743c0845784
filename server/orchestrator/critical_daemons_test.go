package orchestrator

import (
	"log/slog"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// daemonHistory is a host with a daemon, and the tasks that run there beside it; others are still starting.
type daemonHistory struct {
	*memProposer
	t *testing.T
}

func newDaemonHistory(t *testing.T, critical bool) daemonHistory {
	h := daemonHistory{&memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}, t}
	h.do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	h.do(raftfsm.PutHost{Host: spec.Host{ID: "h", Name: "gpu-1", Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: 9999, MemoryMiB: 9999}})
	for _, family := range []string{"f", spec.DaemonPrefix + "f"} {
		h.do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: family, Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c", Essential: new(true)}}}})
	}
	h.do(raftfsm.CreateService{
		Service:  service.Service{ID: "d", Cluster: spec.DefaultCluster, Name: spec.DaemonPrefix + "agent", Strategy: service.Daemon, CreatedAt: h.now},
		Revision: service.Revision{ID: "1", Definition: "daemon/f:1", Critical: critical}, Rollout: service.Rollout{ID: "1", CreatedAt: h.now},
	})
	h.start("agent", "daemon/f:1", &spec.ServiceMember{ID: "d", Deployment: "1", Host: "h"}, time.Second)
	h.start("before", "f:1", nil, 2*time.Second)
	h.start("starting", "f:1", nil, 0)
	return h
}

func (h daemonHistory) do(c raftfsm.Command) {
	h.t.Helper()
	if _, err := h.Propose(h.t.Context(), c); err != nil {
		h.t.Fatalf("%T: %v", c, err)
	}
}

// start has a task on the host, which runs since then; 0: it is on its way.
func (h daemonHistory) start(id, definition string, of *spec.ServiceMember, then time.Duration) {
	h.t.Helper()
	task := &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: definition, HostID: "h", LastStatus: spec.Pending, DesiredStatus: spec.Running, Service: of,
		Containers: []spec.Container{{Name: "c", LastStatus: spec.Pending}}}
	h.do(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
	if then > 0 {
		h.do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: id, Status: spec.Running, Times: spec.TaskTimes{Started: h.now.Add(then)}}}})
	}
}

// end has the task of the daemon end by itself.
func (h daemonHistory) end(then time.Duration) {
	h.do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "agent", Status: spec.Stopped, StopCode: spec.StopEssentialExited, Times: spec.TaskTimes{ExecutionStopped: h.now.Add(then), Stopped: h.now.Add(then)}}}})
}

// stopped are the tasks that are asked to stop, after a look of the drainer.
func (h daemonHistory) stopped() map[string]bool {
	h.t.Helper()
	if err := NewDrainer(h, slog.New(slog.DiscardHandler)).Reconcile(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
	all := map[string]bool{}
	for _, task := range h.state.View().TasksOn("h") {
		if task.DesiredStatus == spec.Stopped {
			all[task.ID] = true
		}
	}
	return all
}

// When a critical daemon fails on a host, the tasks stop that ran there then; what starts after it runs again stays.
func TestTasksStopWithTheirCriticalDaemon(t *testing.T) {
	h := newDaemonHistory(t, true)
	if got := h.stopped(); len(got) != 0 {
		t.Fatalf("while it runs %v are stopped", got)
	}
	h.end(time.Minute)
	h.start("again", "daemon/f:1", &spec.ServiceMember{ID: "d", Deployment: "1", Host: "h"}, 2*time.Minute)
	h.start("after", "f:1", nil, 3*time.Minute)
	if got := h.stopped(); !got["before"] || got["after"] || got["again"] || got["starting"] {
		t.Errorf("%v are stopped", got)
	}
	if task := h.state.View().Task("before"); task.StopCode != spec.StopScheduler || task.StoppedReason == "" {
		t.Errorf("%+v", task)
	}
	index := h.index
	if h.stopped(); h.index != index {
		t.Error("they are stopped again and again")
	}
}

// A daemon that is not critical, or that is stopped by somebody, has no task stop.
func TestTasksOutliveOtherDaemons(t *testing.T) {
	h := newDaemonHistory(t, false)
	h.end(time.Minute)
	if got := h.stopped(); got["before"] {
		t.Errorf("%v are stopped without a daemon that is not critical", got)
	}
	h = newDaemonHistory(t, true)
	h.do(raftfsm.StopTask{ID: "agent", Code: spec.StopUserInitiated, At: h.now})
	h.do(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "agent", Status: spec.Stopped}}})
	if got := h.stopped(); got["before"] {
		t.Errorf("%v are stopped after a user has stopped the daemon's task", got)
	}
	h = newDaemonHistory(t, true)
	s := h.state.View().ServiceByID("d")
	h.do(raftfsm.StepService{ServiceID: "d", Version: s.Version, Service: *s, Stops: []raftfsm.ServiceStop{{TaskID: "agent", Failed: true}}, At: h.now.Add(time.Hour)})
	if got := h.stopped(); !got["before"] {
		t.Errorf("%v are stopped when it is unhealthy", got)
	}
}

// A daemon that is unhealthy has failed when it was told to stop: what starts until it has ended stays.
func TestAnUnhealthyDaemonHasFailedWhenItIsStopped(t *testing.T) {
	h := newDaemonHistory(t, true)
	task := *h.state.View().Task("agent")
	task.Service = &spec.ServiceMember{ID: "d", Deployment: "1", Host: "h", Unhealthy: true}
	stopping := h.now.Add(time.Minute)
	task.Times.Stopping, task.Times.ExecutionStopped, task.Times.Stopped = stopping, stopping.Add(time.Minute), stopping.Add(time.Minute)
	if at, title := failedDaemon(h.state.View(), &task); title == "" || !at.Equal(stopping) {
		t.Errorf("%q failed at %s, want %s", title, at, stopping)
	}
}
