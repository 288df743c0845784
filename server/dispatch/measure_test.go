package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/metric"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/metrics"
)

// A host measures the running tasks of services that follow a metric of hosts, and no others. Of tasks elsewhere it tells only what its proxy sends.
func TestAHostIsToldWhatToMeasure(t *testing.T) {
	b, state := newBackend(t)
	server := b.server.(*fakeServer)
	do := func(c raftfsm.Command) {
		t.Helper()
		if _, err := server.Propose(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	wanted := func() []string {
		t.Helper()
		tasks, err := b.Measure(t.Context(), "mine", metric.Report{Tasks: []metric.Task{{TaskID: "t", Name: metric.CPU, Value: 7}, {TaskID: "other", Name: metric.CPU, Value: 7}, {TaskID: "other", Name: metric.InFlight, Value: 5}}})
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]string, 0, len(tasks.Tasks))
		for _, task := range tasks.Tasks {
			ids = append(ids, fmt.Sprint(task.ID, task.GPUs))
		}
		return ids
	}
	do(raftfsm.CreateService{Service: service.Service{ID: "svc", Cluster: "default", Name: "web", Strategy: service.Replica, Desired: 1}, Revision: service.Revision{ID: "r", Definition: "f:1"}, Rollout: service.Rollout{ID: "r"}})
	s := *state.View().ServiceByID("svc")
	do(raftfsm.StepService{ServiceID: "svc", Version: s.Version, Service: s, Starts: []*spec.Task{{ID: "t", Cluster: "default", Definition: "f:1", LastStatus: spec.Provisioning, DesiredStatus: spec.Running, Service: &spec.ServiceMember{ID: "svc", Deployment: "r"}}}})
	do(raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: "t", HostID: "mine"}}}})
	do(raftfsm.ReportTasks{HostID: "mine", Reports: []spec.TaskReport{{TaskID: "t", Status: spec.Running}}})
	least, most := 1, 2
	do(raftfsm.Wrap(scaling.ChangeTarget{Cluster: "default", Service: "web", Change: scaling.Change{Register: &scaling.Registration{Min: &least, Max: &most}}}))
	if got := wanted(); len(got) > 0 {
		t.Errorf("%v for no policy", got)
	}
	follow := func(m scaling.Metric) {
		do(raftfsm.Wrap(scaling.ChangeTarget{Cluster: "default", Service: "web", Change: scaling.Change{PutPolicy: &scaling.Policy{Name: "load", Tracking: scaling.Tracking{Target: "1", Metric: m}}}}))
	}
	if follow(scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.QueueDepth)}); len(wanted()) > 0 {
		t.Error("measured for the queue")
	}
	if follow(scaling.Metric{Predefined: scaling.PredefinedCPU}); !slices.Equal(wanted(), []string{"t[]"}) {
		t.Errorf("%v", wanted())
	}
	if follow(scaling.Metric{Namespace: scaling.Namespace, Name: string(metric.GPU)}); !slices.Equal(wanted(), []string{"t[]"}) {
		t.Errorf("%v", wanted())
	}
	if sums := b.metrics.(*metrics.Store).Sums(server.Now()).Of; sums[metrics.Key{TaskID: "t", Source: metric.CPU}] != 7 || sums[metrics.Key{TaskID: "other", Source: metric.InFlight}] != 5 || len(sums) != 2 {
		t.Errorf("%v", sums)
	}
	if _, err := b.Measure(t.Context(), "mine", metric.Report{Tasks: make([]metric.Task, metric.MaxReported+1)}); err == nil {
		t.Error("a report without bound is taken")
	}
}

// The utilization of GPUs is asked for where the service follows it.
func TestAHostIsToldWhichGPUsToMeasure(t *testing.T) {
	task := &spec.Task{ID: "t", Containers: []spec.Container{{GPUs: []string{"GPU-1"}}, {}, {GPUs: []string{"GPU-2"}}}}
	for name, want := range map[metric.Name]int{metric.GPU: 2, metric.CPU: 0} {
		if got := wantedTask(raftfsm.NewState().View(), task, []metric.Name{name}); len(got.GPUs) != want || got.ID != "t" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// An earlier server takes a report of measures for one of no tasks, and an earlier host never sends one.
func TestMeasuresGoOverASession(t *testing.T) {
	a := openAgentEnd(t, &fakeServer{state: raftfsm.NewState()})
	defer a.hangUp()
	text, err := json.Marshal(agentMessage{Seq: 2, Metrics: &metric.Report{}})
	if err != nil || string(text) != `{"seq":2,"metrics":{}}` {
		t.Fatalf("%s %v", text, err)
	}
	if err := a.Encode(agentMessage{Seq: 2, Metrics: &metric.Report{}}); err != nil {
		t.Fatal(err)
	}
	if reply := a.reply(t); reply.Error != nil || reply.Seq != 2 {
		t.Errorf("%+v", reply)
	}
}
