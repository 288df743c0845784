package rollout

import (
	"slices"
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

// A task that its targets make unhealthy ends as failed, and says which target group found what; one stopped without that gives way.
func TestAnUnhealthyTargetIsTheReason(t *testing.T) {
	const arn, other = "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/g/1", "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/h/2"
	for name, c := range map[string]struct {
		balancer service.LoadBalancer
		arn      string
	}{
		"its group":     {service.LoadBalancer{Group: "g", ARN: arn, Container: "main", Port: 80}, arn},
		"the alternate": {service.LoadBalancer{Group: "h", ARN: arn, Container: "main", Port: 80, Advanced: service.Advanced{Group: "g", Alternate: "h", AlternateARN: other}}, other},
	} {
		p := newPool(t, 1, 4)
		revision, rollout := p.revision("good:1")
		revision.LoadBalancers = []service.LoadBalancer{c.balancer}
		p.do(raftfsm.CreateService{Service: service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web", CreatedAt: p.now, Strategy: service.Replica, Desired: 2}, Revision: *revision, Rollout: *rollout})
		for range 2 { // beside the first two their replacements, which leave no room for more
			p.run(3)
			for _, task := range p.live() {
				p.do(raftfsm.ReportTasks{HostID: task.HostID, Reports: []spec.TaskReport{{TaskID: task.ID, Status: spec.Running, Targets: []traffic.TargetHealth{{
					Group: c.balancer.Group, Container: "main", Port: 80, State: traffic.Unhealthy, Reason: "Target.ResponseCodeMismatch", Detail: "Health checks failed with these codes: [200]"}}}}})
			}
		}
		stopped := p.live()
		p.run(3)
		stopped = slices.DeleteFunc(stopped, func(t *spec.Task) bool { return p.View().Task(t.ID).DesiredStatus == spec.Running })
		for _, task := range stopped {
			if task := p.View().Task(task.ID); task.StoppedReason != "Task failed ELB health checks in (target-group "+c.arn+")" || task.StopCode != spec.StopScheduler || !task.Service.Unhealthy {
				t.Errorf("%s: %s %q, %+v", name, task.StopCode, task.StoppedReason, task.Service)
			}
		}
		said := p.said("(service web) (port 80) is unhealthy in (target-group " + c.arn + ") due to (reason Health checks failed with these codes: [200]).")
		if len(stopped) != 2 || said != 1 || p.web().Primary().FailedTasks != 2 {
			t.Errorf("%s: %d stopped, said %d times, %d tasks failed: %+v", name, len(stopped), said, p.web().Primary().FailedTasks, p.web().Events)
		}
	}
}
