package rollout

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// A task of a service with load balancers is healthy when its targets are, however long it runs, and unhealthy after the grace when they are not.
func TestATaskIsAsHealthyAsItsTargets(t *testing.T) {
	p := newPool(t, 1, 4)
	grace := 30
	revision, rollout := p.revision("good:1")
	revision.LoadBalancers = []service.LoadBalancer{{Group: "g", Container: "main", Port: 80}, {Group: "h", Container: "main", Port: 80}}
	p.do(raftfsm.CreateService{Service: service.Service{
		ID: "svc", Cluster: spec.DefaultCluster, Name: "web", CreatedAt: p.now, Strategy: service.Replica, Desired: 1, Settings: service.Settings{GraceSeconds: &grace},
	}, Revision: *revision, Rollout: *rollout})
	found := func(group string, state traffic.TargetState) {
		task := p.live()[0]
		p.do(raftfsm.ReportTasks{HostID: task.HostID, Reports: []spec.TaskReport{{TaskID: task.ID, Status: spec.Running, Targets: []traffic.TargetHealth{{Group: group, Container: "main", Port: 80, State: state}}}}})
	}
	for _, step := range []struct {
		name     string
		do       func()
		want     service.RolloutState
		replaced bool
	}{
		{"nothing is known", func() {}, service.InProgress, false},
		{"one is healthy", func() { found("g", traffic.Healthy) }, service.InProgress, false},
		{"one is unhealthy", func() { found("h", traffic.Unhealthy) }, service.InProgress, false},
		{"both are healthy", func() { found("h", traffic.Healthy) }, service.Completed, false},
		{"one is unhealthy after the grace", func() { p.run(30); found("h", traffic.Unhealthy) }, service.Completed, true},
	} {
		step.do()
		p.run(3)
		if state, replaced := p.web().Primary().State, len(p.live()) > 1; state != step.want || replaced != step.replaced {
			t.Errorf("%s: %s, replaced %t", step.name, state, replaced)
		}
	}
}
