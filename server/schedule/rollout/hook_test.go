package rollout

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// paused is a service of two tasks that run, whose next deployment is paused by hooks.
func paused(t *testing.T, strategy string, steps *service.Steps, hooks ...service.Hook) *pool {
	p := newPool(t, 2, 4)
	one := 1
	settings := percents(50, 200)
	settings.Deployment.Strategy, settings.Deployment.Steps = strategy, steps
	if strategy != "" {
		settings.Deployment.BakeMinutes = &one
	}
	p.create(service.Service{Desired: 2, Settings: settings}, "good:1")
	p.run(20)
	settings.Deployment.Hooks = hooks
	p.update(service.Change{Settings: &settings})
	return p
}

// The first deployment of a service waits like any other, though nothing was there before it: no task starts before the first answer, and when
// all are healthy the later stages are asked. What cannot be of it, as no other deployment is under way, is not.
func TestTheFirstDeploymentIsPaused(t *testing.T) {
	for strategy, want := range map[string][]service.Stage{
		"": {service.StagePreScaleUp, service.StagePostScaleUp}, service.BlueGreen: service.PauseStages[1:], service.Canary: service.PauseStages[1:],
	} {
		p := newPool(t, 2, 4)
		var settings service.Settings
		settings.Deployment.Strategy, settings.Deployment.Hooks = strategy, []service.Hook{at(want...)}
		if strategy != "" {
			settings.Deployment.Hooks = append(settings.Deployment.Hooks, at(service.StageReconcile))
		}
		p.create(service.Service{Desired: 2, Settings: settings}, "good:1")
		for i, stage := range want {
			p.run(30)
			if waits := p.waiting(); len(waits) != 1 || waits[0].Stage != stage || p.web().Primary().State != service.InProgress {
				t.Fatalf("%q: at %s: %+v, %+v", strategy, stage, waits, p.web().Shift)
			}
			if (p.of("good:1") == 0) != (i == 0) {
				t.Errorf("%q: at %s there are %d tasks", strategy, stage, p.of("good:1"))
			}
			p.answer(service.HookContinue)
		}
		p.run(30)
		if s := p.web(); s.Primary().State != service.Completed || s.Shift != (service.Shift{}) || p.rollout().Status != service.RolloutSuccessful {
			t.Errorf("%q: %+v", strategy, s)
		}
	}
}

// A deployment that takes the place of one which was never answered is a first one, too: no task of either starts before the answer.
func TestAnotherDeploymentDoesNotAnswerForTheFirst(t *testing.T) {
	p := newPool(t, 2, 4)
	var settings service.Settings
	settings.Deployment.Strategy, settings.Deployment.Hooks = service.BlueGreen, []service.Hook{at(service.StagePreScaleUp)}
	p.create(service.Service{Desired: 2, Settings: settings}, "good:1")
	p.run(10)
	p.deploy("good:2")
	if p.run(30); len(p.live()) != 0 || len(p.waiting()) != 1 {
		t.Fatalf("%d tasks, %+v", len(p.live()), p.rollout())
	}
	p.answer(service.HookContinue)
	if p.run(30); p.of("good:2") != 2 || p.of("good:1") != 0 || p.web().Primary().State != service.Completed {
		t.Errorf("%+v", p.web())
	}
}

func at(stages ...service.Stage) service.Hook { return service.Hook{Stages: stages} }

// waiting lists the hooks that wait for an answer.
func (p *pool) waiting() (all []service.Pause) {
	return slices.DeleteFunc(slices.Clone(p.rollout().Pauses), func(p service.Pause) bool { return p.Status != service.HookAwaiting })
}

func (p *pool) command(hook string, action service.HookAction) raftfsm.ContinueService {
	return raftfsm.ContinueService{Cluster: spec.DefaultCluster, Name: "web", Rollout: p.rollout().ID, Hook: hook, Action: action, By: "ann", EventID: p.newID(), At: p.now}
}

// answer answers the first hook that waits.
func (p *pool) answer(action service.HookAction) {
	p.t.Helper()
	if len(p.waiting()) == 0 {
		p.t.Fatalf("no hook waits: %+v, %+v", p.rollout(), p.web().Shift)
	}
	p.do(p.command(p.waiting()[0].ID, action))
}

func TestARolloutWaitsAtEachStageThatHasAHook(t *testing.T) {
	p := paused(t, service.BlueGreen, nil, at(service.PauseStages...))
	p.deploy("good:2")
	for _, stage := range service.PauseStages[1:] { // the first one is of a rollout that takes the place of another
		p.run(300)
		shift, waits := p.web().Shift, p.waiting()
		if shift.Stage != stage || len(waits) != 1 || waits[0].Stage != stage || waits[0].Action != service.HookRollback {
			t.Fatalf("at %s: %+v, %+v", stage, shift, waits)
		}
		if green := p.of("good:2"); (green > 0) == (stage == service.StagePreScaleUp) || p.of("good:1") != 2 {
			t.Errorf("at %s there are %d new tasks and %d old ones", stage, green, p.of("good:1"))
		}
		if tests := stage != service.StagePreScaleUp && stage != service.StagePostScaleUp; shift.Tests() != tests || (shift.PerMille > 0) != (stage == service.StagePostProduction) {
			t.Errorf("at %s the traffic is %+v", stage, shift)
		}
		p.answer(service.HookContinue)
	}
	p.run(90)
	if r := p.rollout(); r.Status != service.RolloutSuccessful || r.Pauses[0].Status != service.HookSucceeded || p.of("good:1") != 0 {
		t.Errorf("%+v", r)
	}
	if p.said("is paused at POST_TEST_TRAFFIC_SHIFT by ecs-pause-") != 1 || p.said("goes on from PRE_SCALE_UP: ann has continued it.") != 1 {
		t.Errorf("%+v", p.web().Events)
	}
}

// Each step of LINEAR asks anew, by another id, and only after the pause behind the step before.
func TestEachStepOfTrafficAsks(t *testing.T) {
	p := paused(t, service.Linear, &service.Steps{PerMille: 400, BakeMinutes: 1}, at(service.StagePreProduction))
	p.deploy("good:2")
	ids := map[string]bool{}
	for _, has := range []int{0, 400, 800} {
		p.run(90)
		if got := p.web().Shift; got.Stage != service.StagePreProduction || got.PerMille != has {
			t.Fatalf("%+v, and not at %d", got, has)
		}
		ids[p.waiting()[0].ID] = true
		p.answer(service.HookContinue)
	}
	if p.run(90); len(ids) != 3 || p.rollout().Status != service.RolloutSuccessful {
		t.Errorf("%v, %+v", ids, p.rollout())
	}
}

func TestWhatNobodyAnswersTimesOut(t *testing.T) {
	for action, ends := range map[service.HookAction]service.RolloutStatus{"": service.RolloutRollbackSuccessful, service.HookContinue: service.RolloutSuccessful} {
		hook := service.Hook{Stages: []service.Stage{service.StagePostTestTraffic}, Timeout: &service.HookTimeout{Minutes: 3, Action: action}}
		p := paused(t, service.BlueGreen, nil, hook)
		p.deploy("good:2")
		p.run(15)
		if waits := p.waiting()[0]; p.wake != waits.ExpiresAt || waits.ExpiresAt.After(p.now.Add(3*time.Minute)) || waits.ExpiresAt.Before(p.now.Add(2*time.Minute)) {
			t.Fatalf("it is looked at again at %s: %+v", p.wake, waits)
		}
		p.run(150)
		if !p.rollout().Paused() {
			t.Fatalf("%q: it did not wait", action)
		}
		p.run(120)
		if r := p.rollout(); r.Status != ends || r.Pauses[0].Status != service.HookTimedOut || p.said("was not answered at POST_TEST_TRAFFIC_SHIFT in time") != 1 {
			t.Errorf("%q: %+v", action, r)
		}
	}
}

// A timeout that is to roll back a rollout with nothing behind it that was ever completed ends it.
func TestATimeoutWithNothingToGoBackToFails(t *testing.T) {
	p := newPool(t, 2, 4)
	settings := service.Settings{}
	settings.Deployment.Strategy, settings.Deployment.Hooks = service.BlueGreen, []service.Hook{at(service.StagePreScaleUp)}
	p.create(service.Service{Desired: 1, Settings: settings}, "broken:1")
	p.run(5)
	p.deploy("good:1")
	p.run(5)
	if _, err := p.Apply(p.index+1, p.command(p.waiting()[0].ID, service.HookRollback)); !errors.Is(err, service.ErrNoRollback) {
		t.Errorf("%v", err)
	}
	p.now = p.now.Add(24 * time.Hour)
	p.run(5)
	if d, r := p.web().Primary(), p.rollout(); d.State != service.Failed || r.Status != service.RolloutStopped || p.of("good:1") != 0 {
		t.Errorf("%+v, %+v", d, r)
	}
}

// All hooks of a stage have to let the rollout go on, and one that does not ends it for all.
func TestAllHooksOfAStageAreAsked(t *testing.T) {
	hook := at(service.StagePostProduction)
	p := paused(t, service.Canary, &service.Steps{PerMille: 100}, hook, hook, hook)
	p.deploy("good:2")
	p.run(30)
	first := p.waiting()[0].ID
	p.answer(service.HookContinue)
	if p.run(90); len(p.waiting()) != 2 || p.web().Shift.Stage != service.StagePostProduction {
		t.Fatalf("%+v", p.rollout().Pauses)
	}
	if _, err := p.Apply(p.index+1, p.command(first, service.HookContinue)); !errors.Is(err, service.ErrNotPaused) {
		t.Errorf("one is answered twice: %v", err)
	}
	p.answer(service.HookRollback)
	if s := p.web(); s.Shift.IsOn() || s.Primary().Definition != "good:1" {
		t.Fatalf("the traffic is not back: %+v", s)
	}
	var statuses []service.HookStatus
	for _, pause := range p.rollout().Pauses {
		statuses = append(statuses, pause.Status)
	}
	if want := []service.HookStatus{service.HookSucceeded, service.HookFailed, service.HookFailed}; !slices.Equal(statuses, want) {
		t.Errorf("%v", statuses)
	}
	if p.run(30); p.of("good:2") != 0 || p.rollout().Status != service.RolloutRollbackSuccessful || p.said("rolling back to") != 1 {
		t.Errorf("%+v, %+v", p.rollout(), p.web().Events)
	}
}

// StopServiceDeployment and a newer deployment end a pause. The newer one waits before all else, as it takes the place of another.
func TestAPauseEndsWithItsRollout(t *testing.T) {
	p := paused(t, service.BlueGreen, nil, at(service.StageReconcile, service.StagePostScaleUp))
	p.deploy("good:2")
	p.run(30)
	first := p.rollout().ID
	p.deploy("checked:1")
	p.run(30)
	if r := p.View().ServiceRollout(first); r.Status != service.RolloutStopped || r.Pauses[0].Status != service.HookFailed {
		t.Errorf("%+v", r)
	}
	if waits := p.waiting(); len(waits) != 1 || waits[0].Stage != service.StageReconcile || p.of("checked:1") != 0 || p.of("good:1") != 2 {
		t.Fatalf("%+v", waits)
	}
	p.do(raftfsm.RollBackService{Cluster: spec.DefaultCluster, Name: "web", Rollout: p.rollout().ID, At: p.now})
	if p.run(30); p.rollout().Status != service.RolloutRollbackSuccessful || p.rollout().Pauses[0].Status != service.HookFailed || p.of("good:1") != 2 {
		t.Errorf("%+v", p.rollout())
	}
}

// A ROLLING deployment waits before its first task, and when all of its tasks are healthy.
func TestARollingDeploymentIsPaused(t *testing.T) {
	p := paused(t, "", nil, at(service.RollingPauseStages...))
	p.deploy("good:2")
	p.run(30)
	if p.waiting()[0].Stage != service.StagePreScaleUp || p.of("good:2") != 0 || p.of("good:1") != 2 {
		t.Fatalf("%+v", p.rollout())
	}
	p.answer(service.HookContinue)
	p.run(60)
	if p.waiting()[0].Stage != service.StagePostScaleUp || p.of("good:2") != 2 || p.of("good:1") != 0 || p.web().Primary().State != service.InProgress {
		t.Fatalf("%+v", p.rollout())
	}
	p.answer(service.HookRollback)
	if p.run(60); p.of("good:1") != 2 || p.of("good:2") != 0 || p.rollout().Status != service.RolloutRollbackSuccessful || p.web().Shift.IsOn() {
		t.Errorf("%+v", p.rollout())
	}
}

// While no new task is healthy the traffic goes back, and the stage with its pause comes again.
func TestAPauseComesAgainWithItsStage(t *testing.T) {
	p := paused(t, service.BlueGreen, nil, at(service.StagePostProduction))
	p.deploy("good:2")
	p.run(30)
	before := p.waiting()[0].ID
	for _, task := range p.live() {
		if task.Definition == "good:2" {
			p.do(raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated, At: p.now})
		}
	}
	if p.run(2); p.rollout().Paused() || p.web().Shift.PerMille != 0 {
		t.Fatalf("%+v, %+v", p.rollout(), p.web().Shift)
	}
	if p.run(30); p.waiting()[0].ID == before {
		t.Error("an answer to the first pause is one to the second")
	}
}

// A pause may last for days: what serves is replaced where it fails or its host is drained, and follows the desired count.
func TestAPausedServiceIsRunAsEver(t *testing.T) {
	p := paused(t, service.BlueGreen, nil, at(service.StagePreScaleUp))
	p.deploy("good:2")
	p.run(5)
	drained := p.live()[0].HostID
	p.do(raftfsm.SetHostStatus{ID: drained, Status: spec.HostDraining})
	p.run(30)
	if on := slices.IndexFunc(p.live(), func(t *spec.Task) bool { return t.HostID == drained }); on >= 0 || p.of("good:1") != 2 || len(p.healthy()) != 2 {
		t.Errorf("%d tasks, %d healthy, and one on the drained host: %t", p.of("good:1"), len(p.healthy()), on >= 0)
	}
	for _, desired := range []int{4, 1} {
		p.scale(desired)
		if p.run(30); p.of("good:1") != desired || p.of("good:2") != 0 {
			t.Errorf("%d of %d tasks", p.of("good:1"), desired)
		}
	}
}
