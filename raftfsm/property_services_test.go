package raftfsm

import (
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// ofServices is a command about services.
func (w *model) ofServices(r *rapid.T) Command {
	w.recorded++
	name, fresh := pick(r, "web", "api"), fmt.Sprintf("s%03d", w.recorded)
	revision := service.Revision{ID: fresh, Definition: pick(r, "gpu:1", "cpu:1", "gpu:2")}
	rollout := service.Rollout{ID: fresh, CreatedAt: w.moment(r)}
	rollouts, hooks := []string{"none"}, []string{"none"}
	for _, s := range w.View().Services("") {
		for _, r := range w.View().ServiceRollouts(s.ID) {
			rollouts = append(rollouts, r.ID)
			for _, pause := range r.Pauses {
				hooks = append(hooks, pause.ID)
			}
		}
	}
	desired, settings := rapid.IntRange(0, 3).Draw(r, "desired"), service.Settings{}
	settings.Deployment.Hooks = pick(r, nil, []service.Hook{{Stages: []service.Stage{service.StagePreScaleUp}}})
	settings.Rebalancing = pick(r, "", service.Rebalanced)
	tags := pick(r, nil, []spec.Tag{{Key: service.TagRollout, Value: pick(r, "wait", "never")}})
	return pick[Command](r,
		CreateService{service.Service{ID: fresh, Cluster: pick(r, spec.DefaultCluster, "lab"), Name: name, Desired: desired, Strategy: service.Replica, Tags: tags}, revision, rollout},
		CreateService{Service: service.Service{ID: fresh, Cluster: spec.DefaultCluster, Name: name, Desired: desired, Strategy: service.Replica, Controller: service.External}},
		w.ofTaskSets(r, name), w.ofTaskSets(r, name),
		UpdateService{Cluster: spec.DefaultCluster, Name: name, Change: service.Change{Desired: &desired, Settings: &settings}, At: w.moment(r)},
		UpdateService{Cluster: spec.DefaultCluster, Name: name, Change: service.Change{Revision: &revision, Rollout: &rollout}, At: w.moment(r)},
		DeleteService{Cluster: spec.DefaultCluster, Name: name, Force: rapid.Bool().Draw(r, "force"), At: w.moment(r)},
		w.stepService(r), w.stepService(r), w.stepService(r),
		RollBackService{Cluster: spec.DefaultCluster, Name: name, Rollout: pick(r, rollouts...), At: w.moment(r)},
		ContinueService{Cluster: spec.DefaultCluster, Name: name, Rollout: pick(r, rollouts...), Hook: pick(r, hooks...), Action: pick(r, service.HookContinue, service.HookRollback), EventID: fresh, At: w.moment(r)},
		Wrap(scaling.ChangeTarget{Cluster: spec.DefaultCluster, Service: name, Change: w.scalingChange(r, desired), ID: fresh, At: w.moment(r)}),
		ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{w.task(r), w.task(r)}, Until: w.moment(r)},
	)
}

// ofTaskSets is a command about the task sets of a service, if it has any.
func (w *model) ofTaskSets(r *rapid.T, name string) Command {
	w.recorded++
	fresh := fmt.Sprintf("s%03d", w.recorded)
	ids := []string{fresh}
	if s := w.View().Service(spec.DefaultCluster, name); s != nil {
		for _, d := range s.Deployments {
			ids = append(ids, d.ID)
		}
	}
	id, scale, force := pick(r, ids...), pick[scaling.Number](r, "0", "33.3", "100"), rapid.Bool().Draw(r, "force")
	return pick(r,
		Wrap(taskset.Create{Set: taskset.Set{ID: fresh, Cluster: spec.DefaultCluster, Service: name, Scale: scale, Token: pick(r, "", "a", "b")}, Revision: service.Revision{Definition: pick(r, "gpu:1", "cpu:1")}, At: w.moment(r)}),
		Wrap(taskset.Scale{Cluster: spec.DefaultCluster, Service: name, ID: id, Scale: scale, At: w.moment(r)}),
		Wrap(taskset.Delete{Cluster: spec.DefaultCluster, Service: name, ID: id, Force: force, At: w.moment(r)}),
		Wrap(taskset.MakePrimary{Cluster: spec.DefaultCluster, Service: name, ID: id, At: w.moment(r)}),
	)
}

func (w *model) scalingChange(r *rapid.T, n int) scaling.Change {
	return pick(r, between(n, 3), between(0, n), scaling.Change{Deregister: true}, scaling.Change{Scale: &scaling.Decision{From: pick(r, 0, 1, 2, 3), To: n}},
		scaling.Change{PutPolicy: &scaling.Policy{Name: "load"}}, scaling.Change{PutAction: &scaling.ScheduledAction{Name: "night", Min: &n, Max: &n}}, scaling.Change{Run: &scaling.Run{Action: "night"}})
}

func (w *model) stepService(r *rapid.T) Command {
	known := w.View().Services("")
	if len(known) == 0 {
		return StepService{ServiceID: "none"}
	}
	s := pick(r, known...)
	c := StepService{ServiceID: s.ID, Version: s.Version - pick[int64](r, 0, 0, 0, 1), Service: *s, At: w.moment(r), Noted: []string{w.task(r)},
		Stops: []ServiceStop{{TaskID: w.task(r), Failed: rapid.Bool().Draw(r, "failed")}}, Events: []service.Event{{ID: fmt.Sprint("e", w.recorded)}}}
	if rollout := w.View().ServiceRollout(s.Primary().Rollout); rollout != nil && rapid.Bool().Draw(r, "pauses") {
		paused := rollout.Pause(service.StagePreScaleUp, func() string { return fmt.Sprint("p", w.recorded) }, c.At)
		c.Rollouts = append(c.Rollouts, *paused)
	}
	for range rapid.IntRange(0, 2).Draw(r, "starts") {
		w.recorded++
		start := waiting(fmt.Sprintf("t%03d", w.recorded), 1)
		start.Service = &spec.ServiceMember{ID: pick(r, s.ID, s.ID, s.ID, "other"), Deployment: s.Primary().ID}
		c.Starts = append(c.Starts, start)
	}
	if s.Rebalances() && len(c.Starts) > 0 {
		c.Service.Conditions.Balance = service.Balance{On: true, Task: c.Starts[0].ID, Zone: "a"}
	}
	if s.IsExternal() {
		c.Service.Deployments = slices.DeleteFunc(slices.Clone(s.Deployments), func(d service.Deployment) bool {
			return d.Status == service.DrainingSet && !hasLiveTasks(w.View(), s.ID, d.ID)
		})
	}
	for _, t := range w.View().ServiceTasks(s.ID) {
		c.Noted = append(c.Noted, t.ID)
		c.Stops = append(c.Stops, ServiceStop{TaskID: t.ID})
	}
	return c
}

// checkServices: a service is one of its name, what it refers to is there, its version counts, and at most one of its rollouts goes on. One
// that has ended has no tasks.
func (w *model) checkServices(before, after *View) {
	for _, s := range after.Services("") {
		if was := before.ServiceByID(s.ID); was != nil && was != s && s.Version <= was.Version {
			w.Fatalf("service %s changed without a new version", s.Name)
		}
		if after.Service(s.Cluster, s.Name) != s || after.ServiceByID(s.ID) != s {
			w.Fatalf("service %s is there twice", s.Name)
		}
		for i, d := range s.Deployments {
			first := i == 0
			if s.IsExternal() {
				first = d.ID == s.Primary().ID
			}
			if (d.Status == service.Primary) != first || after.ServiceRevision(d.ID) == nil || (taskset.Find(after, d.ID) != nil) != s.IsExternal() {
				w.Fatalf("service %s: deployment %d is %+v", s.Name, i, d)
			}
			if s.Status != service.Inactive && after.Definition(d.Definition) == nil {
				w.Fatalf("service %s: %s was forgotten", s.Name, d.Definition)
			}
		}
		w.checkRollouts(s, after)
		w.checkServiceTasks(s, after)
	}
	for set := range taskset.ByID.All(after) {
		if s := after.ServiceByID(set.ServiceID); s == nil || s.Deployment(set.ID) == nil {
			w.Fatalf("task set %s has lost its service", set.ID)
		}
	}
	for _, t := range scaling.All(after) {
		if s := after.ServiceByID(t.ServiceID); s == nil || s.Status != service.Active || t.Min > t.Max {
			w.Fatalf("target %+v of service %+v", t, s)
		}
	}
	for r := range rolloutsByID.All(after) {
		if after.ServiceByID(r.ServiceID) == nil || after.ServiceRevision(r.Target.Revision) == nil {
			w.Fatalf("rollout %s has lost its service or its revision", r.ID)
		}
	}
}

func (w *model) checkRollouts(s *service.Service, v *View) {
	for _, r := range v.ServiceRollouts(s.ID) {
		if r.IsFinished() && r.Paused() {
			w.Fatalf("rollout %s of service %s is %s, and waits for an answer", r.ID, s.Name, r.Status)
		}
		if !r.IsFinished() && (r.ID != s.Primary().Rollout || s.Status != service.Active) {
			w.Fatalf("service %s is %s, and rollout %s goes on beside %s", s.Name, s.Status, r.ID, s.Primary().Rollout)
		}
	}
}

func (w *model) checkServiceTasks(s *service.Service, v *View) {
	var want []*spec.Task
	for _, t := range v.Tasks("") {
		if t.Service == nil || t.Service.ID != s.ID || t.Service.Noted {
			continue
		}
		if want = append(want, t); t.LastStatus != spec.Stopped && s.Status == service.Inactive {
			w.Fatalf("service %s has ended, and task %s is %s", s.Name, t.ID, t.LastStatus)
		}
	}
	slices.SortStableFunc(want, func(a, b *spec.Task) int { return int(stoppedRank(a) - stoppedRank(b)) })
	if got := v.ServiceTasks(s.ID); !slices.Equal(got, want) {
		w.Fatalf("service %s has %v, want %v", s.Name, ids(got), ids(want))
	}
}
