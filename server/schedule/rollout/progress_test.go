package rollout

import (
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// shares are how many tasks of each deployment are healthy, and their parts of the requests; -1: none is told.
func (p *pool) shares() (healthy []int, percents []float64) {
	for _, d := range Progress(p.View(), p.web(), p.now).Deployments {
		percent := -1.0
		if d.RequestPercent != nil {
			percent = *d.RequestPercent
		}
		healthy, percents = append(healthy, d.Healthy), append(percents, percent)
	}
	return healthy, percents
}

// withTargets has the service be deployed again with load balancers, or be made with them, and its tasks be registered.
func (p *pool) withTargets(group string) (*service.Revision, *service.Rollout) {
	revision, rollout := p.revision("good:1")
	revision.LoadBalancers = []service.LoadBalancer{{Group: group, Container: "main", Port: 80, Advanced: service.Advanced{Group: "blue", Alternate: "green"}}}
	return revision, rollout
}

// answers has hosts tell that all running tasks of the deployments with a target group answer there.
func (p *pool) answers() {
	for _, t := range p.live() {
		if t.LastStatus == spec.Running {
			group := p.View().ServiceRevision(t.Service.Deployment).LoadBalancers[0].Group
			p.do(raftfsm.ReportTasks{HostID: t.HostID, Reports: []spec.TaskReport{{TaskID: t.ID, Status: spec.Running, Targets: []traffic.TargetHealth{{Group: group, Container: "main", Port: 80, State: traffic.Healthy}}}}})
		}
	}
}

// Without targets a task is healthy some time after its start, and nothing is told of requests.
func TestProgressIsTheHealthThatARolloutGoesBy(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 2}, "good:1")
	p.run(5)
	young, none := p.shares()
	p.run(20)
	old, _ := p.shares()
	if !slices.Equal(young, []int{0}) || !slices.Equal(none, []float64{-1}) || !slices.Equal(old, []int{2}) {
		t.Errorf("%v, %v, then %v", young, none, old)
	}
}

// While tasks are replaced one after the other, requests go to all that answer.
func TestRequestsGoToAllTasksThatAnswer(t *testing.T) {
	p := newPool(t, 1, 4)
	revision, rollout := p.withTargets("blue")
	p.do(raftfsm.CreateService{Service: service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web", CreatedAt: p.now, Strategy: service.Replica, Desired: 3}, Revision: *revision, Rollout: *rollout})
	p.run(3)
	if healthy, percents := p.shares(); !slices.Equal(healthy, []int{0}) || !slices.Equal(percents, []float64{-1}) {
		t.Errorf("none answers: %v, %v", healthy, percents)
	}
	p.answers()
	p.run(3)
	revision, rollout = p.withTargets("blue")
	p.update(service.Change{Revision: revision, Rollout: rollout})
	p.run(3)
	if healthy, percents := p.shares(); !slices.Equal(healthy, []int{0, 3}) || !slices.Equal(percents, []float64{0, 100}) {
		t.Errorf("a new one runs: %v, %v", healthy, percents)
	}
	p.answers()
	if healthy, percents := p.shares(); !slices.Equal(healthy, []int{1, 3}) || !slices.Equal(percents, []float64{25, 75}) {
		t.Errorf("it answers: %v, %v", healthy, percents)
	}
}

// While traffic is moved, the listener's rule divides the requests, however many tasks answer.
func TestRequestsGoAsTheTrafficIsMoved(t *testing.T) {
	p := newPool(t, 2, 4)
	settings := service.Settings{Deployment: service.DeploymentConfiguration{Strategy: service.Canary, Steps: &service.Steps{PerMille: 25, BakeMinutes: 5}}}
	revision, rollout := p.withTargets("blue")
	p.do(raftfsm.CreateService{Service: service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web", CreatedAt: p.now, Strategy: service.Replica, Desired: 2, Settings: settings}, Revision: *revision, Rollout: *rollout})
	p.run(3)
	p.answers()
	p.run(3)
	revision, rollout = p.withTargets("green")
	p.update(service.Change{Revision: revision, Rollout: rollout})
	p.run(3)
	if _, percents := p.shares(); !slices.Equal(percents, []float64{0, 100}) {
		t.Errorf("the new tasks start: %v", percents)
	}
	p.answers()
	p.run(3)
	if healthy, percents := p.shares(); !slices.Equal(healthy, []int{2, 2}) || !slices.Equal(percents, []float64{2.5, 97.5}) {
		t.Errorf("the first step: %v, %v", healthy, percents)
	}
}
