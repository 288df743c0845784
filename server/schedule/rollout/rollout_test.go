package rollout

import (
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

func percents(healthy, most int) service.Settings {
	return service.Settings{Deployment: service.DeploymentConfiguration{MinimumHealthyPercent: &healthy, MaximumPercent: &most}}
}

// expect checks how many tasks of a definition live, and how many tasks are healthy.
func (p *pool) expect(definition string, live, healthy int) {
	p.t.Helper()
	of := 0
	for _, t := range p.live() {
		if t.Definition == definition {
			of++
		}
	}
	if of != live || len(p.healthy()) != healthy {
		p.t.Fatalf("%d tasks of %s live, want %d; %d are healthy, want %d; events %+v", of, definition, live, len(p.healthy()), healthy, p.web().Events)
	}
}

func TestAServiceGetsItsTasksAndIsSteady(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 3}, "good:1")
	p.run(1)
	p.expect("good:1", 3, 0)
	p.run(15)
	p.expect("good:1", 3, 3)
	if s := p.web(); s.Primary().State != service.Completed || p.rollout().Status != service.RolloutSuccessful || p.said("has reached a steady state") != 1 {
		t.Errorf("%+v", s)
	}
	for _, task := range p.live() {
		if task.Group != "service:web" || task.StartedBy != service.DeploymentName(p.web().Primary().ID) {
			t.Errorf("%+v", task)
		}
	}
	before := p.steps
	p.run(60)
	if p.steps != before {
		t.Errorf("%d entries for nothing", p.steps-before)
	}
	p.now = p.wake
	if p.reconcile(); p.said("has reached a steady state") != 2 {
		t.Errorf("it woke at %s and said nothing", p.wake)
	}
}

func TestAServiceIsScaled(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 3}, "good:1")
	p.run(15)
	p.scale(6)
	p.run(15)
	p.expect("good:1", 6, 6)
	protected := p.live()[5]
	p.do(raftfsm.ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{protected.ID}, Until: p.now.Add(time.Minute)})
	p.scale(1)
	p.run(5)
	if live := p.live(); len(live) != 1 || live[0].ID != protected.ID {
		t.Fatalf("%d live, and the protected one is %s", len(live), p.View().Task(protected.ID).DesiredStatus)
	}
	p.scale(0)
	p.run(5)
	p.expect("good:1", 1, 1)
	p.run(60)
	p.expect("good:1", 0, 0)
	if p.web().Primary().State != service.Completed || p.said("has reached a steady state") < 3 {
		t.Errorf("%+v", p.web())
	}
}

// With room beside them, new tasks start first, and each old one goes when a new one is healthy.
func TestARolloutStartsFirstWhereThereIsRoom(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 4, Settings: percents(100, 200)}, "good:1")
	p.run(15)
	p.deploy("checked:1")
	p.run(3)
	p.expect("checked:1", 4, 4)
	p.run(3)
	p.expect("good:1", 0, 4)
	if s := p.web(); len(s.Deployments) != 1 || p.said("deployment completed") != 2 || p.rollout().Status != service.RolloutSuccessful {
		t.Errorf("%+v", s)
	}
}

// On 8 of 8 GPUs there is no room. Without a word of the user's one replica goes first, then the next.
func TestARolloutWithoutRoomStopsOneAtATime(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 8}, "good:1")
	p.run(15)
	p.deploy("checked:1")
	for range 150 {
		if p.run(1); len(p.healthy()) < 7 {
			t.Fatalf("%d are healthy", len(p.healthy()))
		}
	}
	p.expect("checked:1", 8, 8)
	p.expect("good:1", 0, 8)
	if p.said("unable to place") > 0 || p.rollout().Status != service.RolloutSuccessful {
		t.Errorf("%+v", p.web().Events)
	}
}

// A percent that the user gave is kept: the rollout waits, and says once what makes it go on.
func TestARolloutWithoutRoomWaitsWhenTheUserSaysSo(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 8, Settings: percents(100, 200)}, "good:1")
	p.run(15)
	p.deploy("checked:1")
	p.run(60)
	p.expect("good:1", 8, 8)
	if p.said("waits for room") != 1 || p.said(service.TagRollout) != 1 {
		t.Fatalf("%+v", p.web().Events)
	}
	settings := percents(50, 200)
	p.update(service.Change{Settings: &settings})
	p.run(60)
	p.expect("checked:1", 8, 8)
}

func TestARolloutWithinMaxTasksStopsFirst(t *testing.T) {
	p := newPool(t, 4, 4)
	p.create(service.Service{Desired: 4, Settings: percents(50, 100)}, "good:1")
	p.run(15)
	p.deploy("good:2")
	p.run(60)
	p.expect("good:2", 4, 4)
	p.expect("good:1", 0, 4)
}

// A revision that no host could ever run takes no replica away.
func TestNothingIsStoppedForTasksThatNoHostCanRun(t *testing.T) {
	p := newPool(t, 1, 2)
	p.create(service.Service{Desired: 2, Settings: percents(0, 200)}, "good:1")
	p.run(15)
	p.deploy("good:2")
	p.run(1)
	p.now = p.now.Add(time.Minute)
	f := p.facts()
	f.Infeasible = func(*spec.Task) string { return "no host has 99 GPUs" }
	step, _, changes := Next(p.View(), p.web(), f)
	if len(step.Stops) > 0 || !changes || len(step.Events) != 1 || step.Events[0].Action != service.ActionNotPlaced {
		t.Errorf("%+v", step)
	}
}

func TestADeletedServiceStopsItsTasksAndEnds(t *testing.T) {
	p := newPool(t, 1, 4)
	p.create(service.Service{Desired: 4}, "good:1")
	p.run(15)
	p.do(raftfsm.ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{p.live()[0].ID}, Until: p.now.Add(time.Hour)})
	p.do(raftfsm.DeleteService{Cluster: spec.DefaultCluster, Name: "web", Force: true, At: p.now})
	p.run(3)
	if s := p.web(); s.Status != service.Inactive || len(p.live()) != 0 || s.Desired != 0 {
		t.Errorf("%+v", s)
	}
}
