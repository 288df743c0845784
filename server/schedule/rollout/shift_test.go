package rollout

import (
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// shifting is a service of two tasks that run, on eight GPUs, whose next deployment moves traffic by a strategy with a minute of bake time.
func shifting(t *testing.T, strategy string, steps *service.Steps) *pool {
	p := newPool(t, 2, 4)
	one := 1
	settings := breaker(true)
	settings.Deployment.Strategy, settings.Deployment.BakeMinutes, settings.Deployment.Steps = strategy, &one, steps
	p.create(service.Service{Desired: 2, Settings: settings}, "good:1")
	p.run(20)
	if p.web().Primary().State != service.Completed || p.web().Shift.IsOn() {
		t.Fatalf("the first deployment: %+v", p.web())
	}
	return p
}

// of counts the tasks of a definition that were not asked to stop.
func (p *pool) of(definition string) (n int) {
	for _, t := range p.live() {
		if t.Definition == definition {
			n++
		}
	}
	return n
}

// traffic runs until the service has moved its traffic, and lists how much of it the PRIMARY deployment had.
func (p *pool) traffic(minutes int) (seen []int) {
	for range minutes * 60 {
		p.run(1)
		if now := p.web().Shift; now.IsOn() && (len(seen) == 0 || seen[len(seen)-1] != now.PerMille) {
			seen = append(seen, now.PerMille)
		}
	}
	return seen
}

func TestTrafficMovesByTheStrategy(t *testing.T) {
	for strategy, c := range map[string]struct {
		steps *service.Steps
		want  []int
	}{
		service.BlueGreen: {nil, []int{0, 1000}},
		service.Linear:    {&service.Steps{PerMille: 300, BakeMinutes: 1}, []int{0, 300, 600, 900, 1000}},
		service.Canary:    {&service.Steps{PerMille: 50, BakeMinutes: 2}, []int{0, 50, 1000}},
	} {
		p := shifting(t, strategy, c.steps)
		p.deploy("good:2")
		if got := p.traffic(7); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v", strategy, got)
		}
		if s := p.web(); s.Shift.IsOn() || s.Primary().State != service.Completed || p.of("good:1") != 0 || p.of("good:2") != 2 || p.rollout().Status != service.RolloutSuccessful {
			t.Errorf("%s ends with %+v", strategy, s)
		}
	}
}

// Both revisions run whole until the bake time is over, and the old tasks go after it.
func TestTheOldTasksServeUntilTheBakeTimeIsOver(t *testing.T) {
	p := shifting(t, service.BlueGreen, nil)
	p.deploy("good:2")
	var stages []service.Stage
	for p.reconcile(); p.web().Shift.IsOn(); p.run(1) {
		if stage := p.web().Shift.Stage; len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
		}
		if p.of("good:1") != 2 {
			t.Fatalf("at %s there are %d old tasks", p.web().Shift.Stage, p.of("good:1"))
		}
	}
	if want := []service.Stage{service.StageScaleUp, service.StageBake}; !slices.Equal(stages, want) { // those between take no time
		t.Errorf("%v", stages)
	}
	if p.said("both need their room at once") != 1 || p.said("has 100 % of the production traffic") != 1 {
		t.Errorf("%+v", p.web().Events)
	}
}

// A rollback moves the traffic in the entry that it is recorded in: the tasks that it goes back to were never stopped.
func TestARollbackTakesTheTrafficBackAtOnce(t *testing.T) {
	p := shifting(t, service.Linear, &service.Steps{PerMille: 500, BakeMinutes: 5})
	p.deploy("good:2")
	p.run(60)
	if now := p.web().Shift; now.PerMille != 500 {
		t.Fatalf("%+v", now)
	}
	p.do(raftfsm.RollBackService{Cluster: spec.DefaultCluster, Name: "web", Rollout: p.rollout().ID, At: p.now})
	if s := p.web(); s.Shift.IsOn() || s.Primary().Definition != "good:1" || len(p.healthy()) < 4 {
		t.Fatalf("%+v", s)
	}
	p.run(30)
	if p.of("good:1") != 2 || p.of("good:2") != 0 || p.rollout().Status != service.RolloutRollbackSuccessful {
		t.Errorf("%+v", p.rollout())
	}
}

// A rollback in the clean-up, which a protected task has made long, waits for healthy tasks in place of those that were stopped.
func TestARollbackInTheCleanUpWaitsForHealthyTasks(t *testing.T) {
	p := shifting(t, service.BlueGreen, nil)
	p.do(raftfsm.ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{p.live()[0].ID}, Until: p.now.Add(time.Hour)})
	p.deploy("good:2")
	for p.run(1); p.web().Shift.IsOn(); {
		p.run(1)
	}
	green := p.web().Primary().ID
	p.do(raftfsm.RollBackService{Cluster: spec.DefaultCluster, Name: "web", Rollout: p.rollout().ID, At: p.now})
	if now := p.web().Shift; now.From != green || now.PerMille != 0 {
		t.Fatalf("%+v", now)
	}
	p.run(60)
	if p.web().Shift.IsOn() || p.of("good:1") != 2 || p.of("good:2") != 0 {
		t.Errorf("%+v", p.web().Shift)
	}
}

// Green tasks that never get healthy get no traffic, and the circuit breaker ends their deployment.
func TestABrokenRevisionGetsNoTraffic(t *testing.T) {
	p := shifting(t, service.BlueGreen, nil)
	p.deploy("broken:1")
	if seen := p.traffic(5); !slices.Equal(seen, []int{0}) {
		t.Errorf("it had %v", seen)
	}
	if p.of("good:1") != 2 || p.rollout().Status != service.RolloutRollbackSuccessful {
		t.Errorf("%+v", p.rollout())
	}
}

// A task of the revision that serves which ends while the traffic moves is replaced by one of its own.
func TestWhatServesIsKeptWholeWhileTrafficMoves(t *testing.T) {
	p := shifting(t, service.Linear, &service.Steps{PerMille: 500, BakeMinutes: 5})
	p.deploy("good:2")
	p.run(60)
	old := slices.IndexFunc(p.live(), func(t *spec.Task) bool { return t.Definition == "good:1" })
	p.do(raftfsm.StopTask{ID: p.live()[old].ID, Code: spec.StopUserInitiated, At: p.now})
	p.run(5)
	if p.of("good:1") != 2 || p.of("good:2") != 2 {
		t.Errorf("%d old, %d new", p.of("good:1"), p.of("good:2"))
	}
	if p.now.Sub(epoch) < time.Minute {
		t.Error("no time has passed")
	}
}

// A service at zero moves its traffic all the same: its rollout is over when the bake time is, as with tasks.
func TestAServiceWithoutTasksMovesItsTraffic(t *testing.T) {
	p := shifting(t, service.BlueGreen, nil)
	p.scale(0)
	p.run(20)
	p.deploy("good:2")
	p.run(30)
	if s := p.web(); s.Shift.Stage != service.StageBake || s.Shift.PerMille != service.AllTraffic || p.rollout().Status != service.RolloutInProgress {
		t.Errorf("before the end of the bake time: %+v, %s", s.Shift, p.rollout().Status)
	}
	p.run(60)
	if s := p.web(); s.Shift.IsOn() || p.rollout().Status != service.RolloutSuccessful {
		t.Errorf("after it: %+v, %s", s.Shift, p.rollout().Status)
	}
}
