package scheduler

import (
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// newDaemon has a daemon, and returns a task of it that waits for its place on the host.
func (s *testScheduler) newDaemon(critical bool) *spec.Task {
	s.Helper()
	definition := spec.TaskDefinition{Family: spec.DaemonPrefix + "agents", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "main", Image: "pinion/self", CPU: 1, Memory: 1}}}
	name := s.apply(raftfsm.RegisterDefinition{Definition: definition}).(*spec.TaskDefinition).Name()
	s.apply(raftfsm.CreateService{
		Service:  service.Service{ID: "d", Cluster: spec.DefaultCluster, Name: spec.DaemonPrefix + "agent", Strategy: service.Daemon, CreatedAt: epoch},
		Revision: service.Revision{ID: "1", Definition: name, Critical: critical}, Rollout: service.Rollout{ID: "1", CreatedAt: epoch},
	})
	return &spec.Task{ID: "agent", Cluster: spec.DefaultCluster, Definition: name, Group: service.DaemonGroupPrefix + "agent", CapacityProvider: spec.BuiltinCapacityProvider,
		LastStatus: spec.Provisioning, DesiredStatus: spec.Running, CreatedAt: epoch, Queue: &spec.QueueSpec{}, Service: &spec.ServiceMember{ID: "d", Deployment: "1", Host: "h"}}
}

func (s *testScheduler) enqueueTask(t *spec.Task) {
	s.apply(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{t}}}})
}

func (s *testScheduler) isPlaced(id string) bool { return s.node.state.View().Task(id).HostID != "" }

func (s *testScheduler) report(id string, status spec.Status) {
	s.apply(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: id, Status: status}}})
}

// A host takes the task of a critical daemon before all others, and these when it runs.
func TestAHostTakesItsCriticalDaemonFirst(t *testing.T) {
	s := newTestScheduler(t, 1)
	agent := s.newDaemon(true)
	waits := s.run(queued(s.request(1))).Tasks[0]
	refused := func() bool {
		result := s.run(s.request(0))
		return len(result.Failures) == 1 && result.Failures[0].Reason == spec.ReasonInactive && strings.Contains(result.Failures[0].Detail, "daemon agent")
	}
	if !refused() {
		t.Error("a task is placed on a host without its daemon")
	}
	s.enqueueTask(agent)
	s.until(func() bool { return s.isPlaced("agent") })
	if s.isPlaced(waits.ID) || !refused() {
		t.Error("a task is placed while the daemon starts")
	}
	if e, err := s.Explain(t.Context(), waits.ID); err != nil || !slices.ContainsFunc(e.Hosts, func(h spec.Failure) bool { return strings.Contains(h.Detail, "daemon agent") }) {
		t.Errorf("%+v, %v", e, err)
	}
	s.report("agent", spec.Running)
	s.until(func() bool { return s.isPlaced(waits.ID) })
	if result := s.run(s.request(0)); len(result.Tasks) != 1 {
		t.Errorf("with the daemon: %+v", result.Failures)
	}
	s.report("agent", spec.Stopped)
	if !refused() {
		t.Error("a task is placed after the daemon has ended")
	}
	next := s.run(queued(s.request(0))).Tasks[0]
	s.apply(raftfsm.DeleteService{Cluster: spec.DefaultCluster, Name: spec.DaemonPrefix + "agent", At: epoch})
	s.until(func() bool { return s.isPlaced(next.ID) })
}

// The task of a critical daemon overtakes what has waited longer, whatever its priority.
func TestACriticalDaemonOvertakesTheQueue(t *testing.T) {
	s := newTestScheduler(t, 1)
	s.apply(raftfsm.SetHostStatus{ID: "h", Status: spec.HostDraining})
	urgent := queued(s.request(0))
	urgent.Tags = []spec.Tag{{Key: spec.TagPriority, Value: "90"}}
	head := s.run(urgent).Tasks[0]
	agent := s.newDaemon(true)
	s.enqueueTask(agent)
	list, err := s.Queue(t.Context(), "")
	if err != nil || len(list) != 2 || list[0].TaskID != agent.ID || list[1].TaskID != head.ID {
		t.Errorf("%+v, %v", list, err)
	}
	s.apply(raftfsm.SetHostStatus{ID: "h", Status: spec.HostActive})
	s.until(func() bool { return s.isPlaced("agent") })
}

// No host waits for a daemon that is not critical.
func TestAHostTakesTasksWithoutAnyOtherDaemon(t *testing.T) {
	s := newTestScheduler(t, 1)
	s.newDaemon(false)
	if result := s.run(s.request(1)); len(result.Tasks) != 1 {
		t.Errorf("%+v", result.Failures)
	}
}
