package raftfsm

import (
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// create records service "web" of the default cluster with so many desired tasks of gpu:1. Its id is "svc", that of its revision and of its
// rollout "1".
func (h *history) create(t tester, desired int) *service.Service {
	t.Helper()
	return h.do(t, CreateService{
		service.Service{ID: "svc", Cluster: spec.DefaultCluster, Name: "web", Strategy: service.Replica, Desired: desired, CreatedAt: epoch},
		service.Revision{ID: "1", Definition: "gpu:1"}, service.Rollout{ID: "1", CreatedAt: epoch},
	}).(*service.Service)
}

// deploy begins deployment id of gpu:1.
func (h *history) deploy(t tester, id string, minute int) *service.Service {
	t.Helper()
	return h.do(t, h.deployment(id, minute)).(*service.Service)
}

func (h *history) deployment(id string, minute int) UpdateService {
	return UpdateService{Cluster: spec.DefaultCluster, Name: "web", At: at(minute), Change: service.Change{
		Revision: &service.Revision{ID: id, Definition: "gpu:1"}, Rollout: &service.Rollout{ID: id, CreatedAt: at(minute)},
	}}
}

// step takes a step of service "web" for its present version.
func (h *history) step(t tester, c StepService) ServiceStep {
	t.Helper()
	s := h.View().Service(spec.DefaultCluster, "web")
	c.ServiceID, c.Version = s.ID, s.Version
	if len(c.Service.Deployments) == 0 {
		c.Service = *s
	}
	return h.do(t, c).(ServiceStep)
}

// replica is a task that waits, of a deployment of service "web".
func replica(id, deployment string) *spec.Task {
	t := waiting(id, 1)
	t.Service = &spec.ServiceMember{ID: "svc", Deployment: deployment}
	return t
}

func (h *history) web() *service.Service { return h.View().Service(spec.DefaultCluster, "web") }

func TestAServiceHasItsNameAlone(t *testing.T) {
	h := newHistory(t)
	h.create(t, 0)
	again := CreateService{service.Service{ID: "other", Cluster: spec.DefaultCluster, Name: "web"}, service.Revision{ID: "2", Definition: "gpu:1"}, service.Rollout{ID: "2"}}
	refuse(t, h, again, spec.ErrInUse)
	for name, c := range map[string]CreateService{
		"cluster":    {service.Service{ID: "o", Cluster: "none", Name: "o"}, service.Revision{ID: "3", Definition: "gpu:1"}, service.Rollout{ID: "3"}},
		"definition": {service.Service{ID: "o", Cluster: spec.DefaultCluster, Name: "o"}, service.Revision{ID: "3", Definition: "gpu:9"}, service.Rollout{ID: "3"}},
	} {
		if _, err := h.try(t, c); err == nil {
			t.Errorf("without its %s it was created", name)
		}
	}
	refuse(t, h, DeleteCluster{Name: spec.DefaultCluster}, spec.ErrDefaultCluster)
	h.do(t, DeleteService{Cluster: spec.DefaultCluster, Name: "web", At: at(1)})
	if s := h.web(); s.Status != service.Inactive || !s.DeletedAt.Equal(at(1)) {
		t.Fatalf("%+v", s)
	}
	h.do(t, again)
	if s := h.web(); s.ID != "other" || s.Status != service.Active || h.View().ServiceByID("svc") != nil || h.View().ServiceRevision("1") != nil {
		t.Errorf("%+v", s)
	}
}

func TestAServiceKeepsItsCluster(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	h.do(t, CreateService{service.Service{ID: "svc", Cluster: "lab", Name: "web"}, service.Revision{ID: "1", Definition: "gpu:1"}, service.Rollout{ID: "1"}})
	refuse(t, h, DeleteCluster{Name: "lab"}, service.ErrHasServices)
	h.do(t, DeleteService{Cluster: "lab", Name: "web", At: at(1)})
	h.do(t, DeleteCluster{Name: "lab", At: at(1)})
	if !h.View().HasExpired(Reap{Before: at(2)}) {
		t.Fatal("nothing has expired")
	}
	h.do(t, Reap{Before: at(2)})
	if v := h.View(); v.Service("lab", "web") != nil || v.ServiceRollout("1") != nil || v.ServiceRevision("1") != nil {
		t.Error("it is remembered for ever")
	}
}

func TestAServiceIsScaledToZeroBeforeItIsDeleted(t *testing.T) {
	h := newHistory(t)
	h.create(t, 1)
	remove := DeleteService{Cluster: spec.DefaultCluster, Name: "web", At: at(1)}
	refuse(t, h, remove, service.ErrScaled)
	h.step(t, StepService{Starts: []*spec.Task{replica("a", "1")}})
	h.do(t, ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{"a"}, Until: at(99)})
	remove.Force = true
	h.do(t, remove)
	if s := h.web(); s.Status != service.Draining || s.Desired != 0 || h.View().ServiceRollout("1").Status != service.RolloutStopped {
		t.Fatalf("%+v", s)
	}
	refuse(t, h, h.deployment("2", 2), spec.ErrInactive)
	h.step(t, StepService{Stops: []ServiceStop{{TaskID: "a"}}, At: at(2)})
	if s := h.web(); s.Status != service.Inactive || h.View().Task("a").LastStatus != spec.Stopped {
		t.Errorf("%+v", s)
	}
}

func TestANewDeploymentReplacesTheOthers(t *testing.T) {
	h := newHistory(t)
	first := h.create(t, 1)
	h.step(t, StepService{Starts: []*spec.Task{replica("a", "1")}})
	second := h.deploy(t, "2", 1)
	if len(first.Deployments) != 1 || len(second.Deployments) != 2 || second.Primary().ID != "2" || second.Deployments[1].Status != service.Replaced {
		t.Fatalf("%+v", second.Deployments)
	}
	if r := h.View().ServiceRollout("1"); r.Status != service.RolloutStopped || r.StoppedAt.IsZero() {
		t.Errorf("%+v", r)
	}
	h.do(t, DeregisterDefinition{Name: "gpu:1", At: at(1)})
	refuse(t, h, h.deployment("3", 2), spec.ErrInactive)
	if step := h.step(t, StepService{Starts: []*spec.Task{replica("b", "2")}}); step.Refused != nil || step.Service == nil {
		t.Errorf("a definition that is INACTIVE is used no more: %+v", step)
	}
	h.do(t, DeleteDefinitions{Names: []string{"gpu:1"}, At: at(1)})
	h.do(t, StopTask{ID: "a", At: at(1)})
	h.do(t, StopTask{ID: "b", At: at(1)})
	h.do(t, Reap{Before: at(200), InactiveBefore: at(200)})
	if v := h.View(); v.Task("a") != nil || v.Definition("gpu:1") == nil {
		t.Error("the definition of a deployment was forgotten")
	}
}

func TestDeploymentsAndRolloutsAreBounded(t *testing.T) {
	h := newHistory(t)
	h.create(t, 1)
	for i := 2; i < service.MaxRollouts+20; i++ {
		id := fmt.Sprint(i - 1)
		h.step(t, StepService{Starts: []*spec.Task{replica("t"+id, id)}})
		h.deploy(t, fmt.Sprint(i), i)
	}
	s, rollouts := h.web(), h.View().ServiceRollouts("svc")
	if len(s.Deployments) != service.MaxDeployment || len(rollouts) != service.MaxRollouts || h.View().ServiceRevision("1") != nil {
		t.Errorf("%d deployments, %d rollouts", len(s.Deployments), len(rollouts))
	}
	h.do(t, Reap{InactiveBefore: at(10_000)})
	if left := h.View().ServiceRollouts("svc"); len(left) != service.MaxDeployment {
		t.Errorf("%d are left: those of the deployments are", len(left))
	}
}

func TestARolloutIsRolledBackToTheLastCompletedDeployment(t *testing.T) {
	h := newHistory(t)
	h.create(t, 0)
	back := RollBackService{Cluster: spec.DefaultCluster, Name: "web", Rollout: "1", Reason: "asked to", At: at(2)}
	refuse(t, h, back, service.ErrNoRollback)
	done := *h.web()
	done.Deployments = slices.Clone(done.Deployments)
	done.Deployments[0].WasCompleted, done.Deployments[0].State = true, service.Completed
	h.step(t, StepService{Service: done, Rollouts: []service.Rollout{*h.View().ServiceRollout("1").End(service.RolloutSuccessful, "", at(1))}})
	h.deploy(t, "2", 1)
	refuse(t, h, back, service.ErrRolloutOver)
	back.Rollout = "2"
	s := h.do(t, back).(*service.Service)
	if s.Primary().ID != "1" || s.Primary().Rollout != "2" || s.Deployments[1].State != service.Failed {
		t.Errorf("%+v", s.Deployments)
	}
	if r := h.View().ServiceRollout("2"); r.Status != service.RolloutRollbackInProgress || r.Rollback.Revision != "1" {
		t.Errorf("%+v", r)
	}
	refuse(t, h, back, service.ErrRolloutOver)
}

// An answer is one to a hook that waits, once; a step that was made before it is not taken.
func TestAPausedRolloutIsAnswered(t *testing.T) {
	h := newHistory(t)
	h.create(t, 0)
	settings := service.Settings{}
	settings.Deployment.Hooks = []service.Hook{{Stages: []service.Stage{service.StagePreScaleUp}}}
	h.do(t, UpdateService{Cluster: spec.DefaultCluster, Name: "web", Change: service.Change{Settings: &settings}, At: at(1)})
	s := h.deploy(t, "2", 2)
	if !s.Shift.StartsNothing() || len(h.View().ServiceRollout("2").Configuration.Hooks) != 1 {
		t.Fatalf("%+v, %+v", s.Shift, h.View().ServiceRollout("2"))
	}
	paused := h.View().ServiceRollout("2").Pause(service.StagePreScaleUp, func() string { return "p" }, at(3))
	h.step(t, StepService{Rollouts: []service.Rollout{*paused}, At: at(3)})
	stale := StepService{ServiceID: "svc", Version: h.web().Version, Service: *h.web(), Rollouts: []service.Rollout{*paused}}
	c := ContinueService{Cluster: spec.DefaultCluster, Name: "web", Rollout: "2", Hook: "ecs-pause-p", Action: service.HookContinue, By: "ann", EventID: "e", At: at(4)}
	for wrong, want := range map[*ContinueService]error{
		{Cluster: c.Cluster, Name: "other", Rollout: c.Rollout, Hook: c.Hook}: spec.ErrNotFound, {Cluster: c.Cluster, Name: c.Name, Rollout: "3", Hook: c.Hook}: spec.ErrNotFound,
		{Cluster: c.Cluster, Name: c.Name, Rollout: "1", Hook: c.Hook}: service.ErrRolloutOver, {Cluster: c.Cluster, Name: c.Name, Rollout: "2", Hook: "p"}: service.ErrNotPaused,
		{Cluster: c.Cluster, Name: c.Name, Rollout: "2", Hook: c.Hook, Action: service.HookRollback}: service.ErrNoRollback,
	} {
		refuse(t, h, *wrong, want)
	}
	h.do(t, c)
	if r, e := h.View().ServiceRollout("2"), h.web().Events; r.Paused() || r.Pauses[0].Status != service.HookSucceeded || !r.UpdatedAt.Equal(at(4)) || len(e) != 1 {
		t.Errorf("%+v, %+v", r, e)
	}
	refuse(t, h, c, service.ErrNotPaused)
	if h.do(t, stale); h.View().ServiceRollout("2").Paused() {
		t.Error("a step from before the answer has undone it")
	}
}

func TestAStepIsTakenForItsVersionAlone(t *testing.T) {
	h := newHistory(t)
	s := h.create(t, 2)
	stale := StepService{ServiceID: "svc", Version: s.Version, Service: *s, Starts: []*spec.Task{replica("a", "1")}, Events: []service.Event{{ID: "e", Message: "m"}}}
	h.do(t, h.deployment("2", 1))
	if step := h.do(t, stale).(ServiceStep); step.Service != nil || h.View().Task("a") != nil {
		t.Errorf("%+v", step)
	}
	h.do(t, Wrap(credential.Create{Key: accesskey.Key{ID: "k1", Secret: "s", Grant: accesskey.Grant{MaxTasks: 1}}}))
	var two []*spec.Task
	for _, id := range []string{"a", "b"} {
		start := replica(id, "2")
		start.Owner = &spec.TaskOwner{Key: "k1"}
		two = append(two, start)
	}
	before := h.web()
	if step := h.step(t, StepService{Starts: two}); step.Refused == nil || h.web() != before {
		t.Errorf("beyond the limit: %+v", step)
	}
	if step := h.step(t, StepService{Starts: two[:1]}); step.Service == nil || h.View().Task("a") == nil {
		t.Errorf("%+v", step)
	}
}

func TestAProtectedTaskIsNotStoppedByItsService(t *testing.T) {
	h := newHistory(t)
	h.create(t, 1)
	other := h.running(t, task("other", "h1"))
	h.step(t, StepService{Starts: []*spec.Task{replica("a", "1")}})
	answers := h.do(t, ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{"a", "none", other.ID}, Until: at(10)}).([]string)
	if !slices.Equal(answers, []string{"", spec.ReasonMissing, ReasonTaskNotValid}) {
		t.Errorf("%q", answers)
	}
	wanted := func() spec.Status { return h.View().Task("a").DesiredStatus }
	if h.step(t, StepService{Stops: []ServiceStop{{TaskID: "a"}, {TaskID: other.ID}}, At: at(9)}); wanted() != spec.Running || h.View().Task(other.ID).DesiredStatus != spec.Running {
		t.Error("it was stopped, or one that is not of the service")
	}
	if h.step(t, StepService{Stops: []ServiceStop{{TaskID: "a"}}, At: at(10)}); wanted() != spec.Stopped {
		t.Error("it is protected for ever")
	}
	start := PositionAfter(h.View().Index())
	h.step(t, StepService{Noted: []string{"a"}, At: at(11)})
	changes, _, err := h.Changes(start, 10)
	if tasks := h.View().ServiceTasks("svc"); len(tasks) != 0 || err != nil || len(changes) != 1 || changes[0].Kind != ServiceChange {
		t.Errorf("%v, %v, %v", ids(tasks), changes, err)
	}
}

func TestTheChangelogTellsWhatECSTellsOfServices(t *testing.T) {
	h := newHistory(t)
	start := PositionAfter(h.View().Index())
	h.create(t, 0)
	done := *h.web()
	done.Deployments = slices.Clone(done.Deployments)
	done.Deployments[0].State, done.Conditions.Steady = service.Completed, at(1)
	events := []service.Event{{ID: "1", Message: "has started 0 tasks"}, {ID: "2", Message: "steady", Action: service.ActionSteadyState}}
	h.step(t, StepService{Service: done, Events: events, At: at(1)})
	h.step(t, StepService{At: at(2)})
	changes, _, err := h.Changes(start, 100)
	var kinds []ChangeKind
	for _, c := range changes {
		kinds = append(kinds, c.Kind)
	}
	want := []ChangeKind{ServiceChange, DeploymentChange, ServiceChange, ServiceActionChange, DeploymentChange, ServiceChange}
	if err != nil || !slices.Equal(kinds, want) {
		t.Errorf("%v, %v", kinds, err)
	}
}
