package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm"
	"pinion/raftfsm/command"
	"pinion/raftfsm/scaling"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskset"
)

// external records service web with task sets: none yet. Its tasks without a health check are healthy after 10 s.
func (p *pool) external(desired int) {
	p.do(raftfsm.CreateService{Service: service.Service{
		ID: "svc", Cluster: spec.DefaultCluster, Name: "web", CreatedAt: p.now, Strategy: service.Replica, Desired: desired, Controller: service.External,
		Tags: []spec.Tag{{Key: service.TagHealthyAfter, Value: "10s"}},
	}})
}

// set makes a task set of the service, and gives its id.
func (p *pool) set(definition string, scale scaling.Number) string {
	id := fmt.Sprintf("%019d", p.index)
	p.do(raftfsm.Wrap(taskset.Create{
		Set: taskset.Set{ID: id, Cluster: spec.DefaultCluster, Service: "web", Scale: scale}, Revision: service.Revision{Definition: definition, CreatedAt: p.now}, At: p.now,
	}))
	return id
}

func (p *pool) scaleSet(id string, scale scaling.Number) {
	p.do(raftfsm.Wrap(taskset.Scale{Cluster: spec.DefaultCluster, Service: "web", ID: id, Scale: scale, At: p.now}))
}

func (p *pool) deleteSet(id string) {
	p.do(raftfsm.Wrap(taskset.Delete{Cluster: spec.DefaultCluster, Service: "web", ID: id, Force: true, At: p.now}))
}

func (p *pool) makePrimary(id string) {
	p.do(raftfsm.Wrap(taskset.MakePrimary{Cluster: spec.DefaultCluster, Service: "web", ID: id, At: p.now}))
}

// tasksOf counts the tasks of a task set that were not asked to stop.
func (p *pool) tasksOf(id string) (n int) {
	for _, t := range p.live() {
		if t.Service.Deployment == id {
			n++
		}
	}
	return n
}

// counts are the tasks of each task set, and whether it is steady.
func (p *pool) counts() (text string) {
	for _, d := range p.web().Deployments {
		text += fmt.Sprintf("%s %d %s; ", d.Status, p.tasksOf(d.ID), d.State)
	}
	return text
}

// checkSetStep fails when a step moves tasks of two task sets, or starts more than the one is to have.
func (p *pool) checkSetStep(step raftfsm.StepService) {
	p.t.Helper()
	sets := map[string]int{}
	for _, t := range step.Starts {
		sets[t.Service.Deployment]++
	}
	for _, stop := range step.Stops {
		sets[p.View().Task(stop.TaskID).Service.Deployment] += 0
	}
	if len(sets) > 1 {
		p.t.Fatalf("a step is of %d task sets", len(sets))
	}
	for id, started := range sets {
		s := p.web()
		want := taskset.Find(p.View(), id).Desired(s, s.Deployment(id))
		if started > 0 && p.tasksOf(id) > 2*want {
			p.t.Fatalf("task set %s has %d tasks, and is to have %d", id, p.tasksOf(id), want)
		}
	}
}

// Each task set has its own part of the desired count, whatever the others have, and its tasks say whose they are.
func TestEachTaskSetHasItsPart(t *testing.T) {
	p := newPool(t, 2, 8)
	p.external(4)
	p.run(1)
	if len(p.live()) != 0 {
		t.Fatal("a service without task sets has tasks")
	}
	blue, green := p.set("good:1", "100"), p.set("good:2", "30")
	p.run(20)
	if got, want := p.counts(), "ACTIVE 2 COMPLETED; ACTIVE 4 COMPLETED; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, task := range p.live() {
		if task.StartedBy != "ecs-svc/"+task.Service.Deployment || task.Group != "service:web" {
			t.Errorf("task %s is started by %s, in group %s", task.ID, task.StartedBy, task.Group)
		}
	}
	if p.said("(service web, taskSet ecs-svc/"+blue+") has reached a steady state.") != 1 {
		t.Errorf("%+v", p.web().Events)
	}
	p.makePrimary(blue)
	p.scale(2)
	p.scaleSet(green, "100")
	p.run(20)
	if got, want := p.counts(), "ACTIVE 2 COMPLETED; PRIMARY 2 COMPLETED; "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	p.deleteSet(blue)
	if p.run(20); p.tasksOf(blue) != 0 || len(p.web().Deployments) != 1 || taskset.Find(p.View(), blue) != nil || p.View().ServiceRevision(blue) != nil {
		t.Errorf("a deleted task set is left: %s", p.counts())
	}
	p.do(raftfsm.DeleteService{Cluster: spec.DefaultCluster, Name: "web", Force: true, At: p.now})
	if p.run(5); p.web().Status != service.Inactive || len(p.live()) != 0 || taskset.Find(p.View(), green) != nil {
		t.Errorf("%+v", p.web())
	}
}

// A task set is steady as soon as its tasks run when nothing checks their health, and otherwise when they are healthy.
func TestWhenATaskSetIsSteady(t *testing.T) {
	for _, c := range []struct {
		definition string
		seconds    int
		want       service.RolloutState
	}{
		{"good:1", 0, service.InProgress}, {"good:1", 2, service.Completed}, {"checked:1", 1, service.InProgress}, {"checked:1", 3, service.Completed},
		{"sick:1", 30, service.InProgress}, {"broken:1", 30, service.InProgress},
	} {
		p := newPool(t, 1, 4)
		p.external(1)
		id := p.set(c.definition, "100")
		p.run(c.seconds)
		if got := p.web().Deployment(id).State; got != c.want {
			t.Errorf("%s after %d s: %s, want %s", c.definition, c.seconds, got, c.want)
		}
	}
	p := newPool(t, 1, 4)
	p.external(1)
	empty := p.set("good:1", "0")
	if p.reconcile(); p.web().Deployment(empty).State != service.Completed {
		t.Error("a task set without tasks is not steady at once")
	}
}

// A task set whose tasks find no room, or fail, keeps none of the others waiting, and says so once.
func TestATaskSetWaitsAlone(t *testing.T) {
	p := newPool(t, 1, 3)
	p.external(2)
	p.set("broken:1", "100")
	p.set("good:1", "100")
	late := p.set("good:2", "100")
	p.run(60)
	if got := p.tasksOf(late); got != 2 || p.said("was unable to place a task") > 2 {
		t.Errorf("%s %+v", p.counts(), p.web().Events)
	}
}

// TestTaskSetsConvergeFromAnyState draws task sets and what happens to them, as TestAServiceConvergesFromAnyState does.
func TestTaskSetsConvergeFromAnyState(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &mess{T: r, pool: newPool(r, rapid.IntRange(1, 4).Draw(r, "hosts"), rapid.IntRange(1, 4).Draw(r, "gpus"))}
		m.external(rapid.IntRange(0, 6).Draw(r, "desired"))
		for range rapid.IntRange(0, 25).Draw(r, "events") {
			if rapid.Bool().Draw(r, "of a set") {
				m.happenToSets()
			} else {
				m.happenToTasks()
			}
			m.run(rapid.SampledFrom([]int{0, 1, 2, 5, 12, 40}).Draw(r, "seconds"))
		}
		m.convergeSets()
	})
}

// happenToSets does one thing to the task sets, or to the desired count. What the state refuses changes nothing.
func (m *mess) happenToSets() {
	s, scale := m.web(), pick(m.T, scaling.Number("0"), "12.5", "50", "100")
	if len(s.Deployments) < service.MaxTaskSets && pick(m.T, true, false) {
		m.set(m.definition(), scale)
		return
	}
	ids := []string{"none"}
	for _, d := range s.Deployments {
		ids = append(ids, d.ID)
	}
	id := pick(m.T, ids...)
	var change command.Command = taskset.Scale{Cluster: s.Cluster, Service: s.Name, ID: id, Scale: scale, At: m.now}
	switch rapid.IntRange(0, 3).Draw(m.T, "what") {
	case 0:
		m.scale(rapid.IntRange(0, 6).Draw(m.T, "desired"))
		return
	case 1:
		change = taskset.Delete{Cluster: s.Cluster, Service: s.Name, ID: id, Force: pick(m.T, true, false), At: m.now}
	case 2:
		m.reconcile()
		m.tryCommand(taskset.MakePrimary{Cluster: s.Cluster, Service: s.Name, ID: id, At: m.now})
		if step, _, _ := Next(m.View(), m.web(), m.facts()); len(step.Starts)+len(step.Stops) > 0 {
			m.Fatalf("another PRIMARY task set starts %d tasks and stops %d", len(step.Starts), len(step.Stops))
		}
		return
	}
	m.tryCommand(change)
}

func (m *mess) tryCommand(c command.Command) {
	m.index++
	_, _ = m.Apply(m.index, raftfsm.Wrap(c)) // it may be refused
}

// happenToTasks does one thing to a task, or to a host.
func (m *mess) happenToTasks() {
	host := pick(m.T, m.View().Hosts("")...)
	switch what := rapid.IntRange(0, 3).Draw(m.T, "what"); {
	case what == 0:
		m.do(raftfsm.SetHostStatus{ID: host.ID, Status: pick(m.T, spec.HostActive, spec.HostDraining)})
	case what == 1 && !host.Lost():
		m.do(raftfsm.MarkHostLost{ID: host.ID, At: m.now})
	case what == 2 && len(m.live()) > 0:
		m.do(raftfsm.StopTask{ID: pick(m.T, m.live()...).ID, Code: pick(m.T, spec.StopUserInitiated, spec.StopPreempted), At: m.now})
	case what == 3 && len(m.live()) > 0:
		m.do(raftfsm.ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{pick(m.T, m.live()...).ID}, Until: m.now.Add(pick(m.T, time.Minute, time.Hour))})
	}
}

// convergeSets leaves the service in peace with the task sets that work, on hosts that do: each has its part and is steady, and those that were deleted
// are gone.
func (m *mess) convergeSets() {
	for _, host := range m.View().Hosts("") {
		m.do(raftfsm.PutHost{Host: *host})
		m.do(raftfsm.SetHostStatus{ID: host.ID, Status: spec.HostActive})
	}
	m.putHost(8, 64)
	for _, d := range slices.Clone(m.web().Deployments) {
		if d.Definition == "broken:1" || d.Definition == "short:1" || d.Definition == "sick:1" {
			m.deleteSet(d.ID)
		}
	}
	m.run(200)
	m.now = m.now.Add(time.Hour) // whatever was protected is not any more
	m.run(400)
	s := m.web()
	for i := range s.Deployments {
		d := &s.Deployments[i]
		want := taskset.Find(m.View(), d.ID).Desired(s, d)
		if d.Status == service.DrainingSet || d.State != service.Completed || m.tasksOf(d.ID) != want || d.Conditions.Steady.IsZero() {
			m.Fatalf("%d tasks, want %d: %+v", m.tasksOf(d.ID), want, d)
		}
	}
	before := m.steps
	if m.run(100); m.steps > before {
		m.Fatalf("%d entries for nothing: %+v", m.steps-before, m.web().Events)
	}
}
