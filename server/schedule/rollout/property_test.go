package rollout

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// TestAServiceConvergesFromAnyState draws a service and what happens to it: updates in the middle of rollouts, broken revisions, lost and
// drained hosts, tasks that are stopped, preempted and protected, hooks that pause rollouts and are answered or not,
// and zones of the hosts. Each step is held to its bounds (pool.checkStep), and the reconciler, which
// has no memory, rests after a few. When it is left in peace with a revision that works and room for it, the service is what it is to be.
func TestAServiceConvergesFromAnyState(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &mess{T: r, pool: newPool(r, rapid.IntRange(1, 4).Draw(r, "hosts"), rapid.IntRange(1, 4).Draw(r, "gpus"))}
		m.zoned(pick(r, nil, []string{"a", "b"}, []string{"a", "a", "b", "c"})...)
		strategy := pick(r, service.Replica, service.Replica, service.Replica, service.Daemon)
		m.create(service.Service{Strategy: strategy, Desired: rapid.IntRange(0, 8).Draw(r, "desired"), Settings: m.settings()}, m.definition())
		for range rapid.IntRange(0, 25).Draw(r, "events") {
			m.happen()
			m.run(rapid.SampledFrom([]int{0, 1, 2, 5, 12, 40}).Draw(r, "seconds"))
		}
		m.converge(strategy)
	})
}

type mess struct {
	*rapid.T
	*pool
}

func pick[V any](r *rapid.T, from ...V) V { return rapid.SampledFrom(from).Draw(r, "one of") }

func (m *mess) definition() string {
	return pick(m.T, "good:1", "good:2", "checked:1", "checked:2", "broken:1", "short:1", "sick:1")
}

func (m *mess) settings() service.Settings {
	var s service.Settings
	if pick(m.T, true, true, false) {
		s = percents(pick(m.T, 0, 50, 87, 100), pick(m.T, 100, 125, 200))
	}
	s.Deployment.Breaker = pick(m.T, nil, breaker(true).Deployment.Breaker, breaker(false).Deployment.Breaker)
	s.Deployment.Strategy = pick(m.T, "", "", service.BlueGreen, service.Linear, service.Canary)
	for range pick(m.T, 0, 0, 1, 2) {
		timeout := &service.HookTimeout{Minutes: pick(m.T, 0, 1), Action: pick(m.T, "", service.HookContinue, service.HookRollback)}
		s.Deployment.Hooks = append(s.Deployment.Hooks, service.Hook{Stages: []service.Stage{pick(m.T, service.PauseStages...), pick(m.T, service.PauseStages...)}, Timeout: timeout})
	}
	s.Rebalancing = pick(m.T, "", service.Rebalanced)
	grace := pick(m.T, 0, 0, 15)
	s.GraceSeconds = &grace
	return s
}

// happen does one thing to the service, to its tasks or to the hosts.
func (m *mess) happen() {
	var task *spec.Task
	if live := m.live(); len(live) > 0 {
		task = pick(m.T, live...)
	}
	host := pick(m.T, m.View().Hosts("")...)
	switch what := rapid.IntRange(0, 10).Draw(m.T, "what"); {
	case what == 0:
		m.deploy(m.definition())
	case what == 1:
		m.scale(rapid.IntRange(0, 8).Draw(m.T, "desired"))
	case what == 2:
		settings := m.settings()
		m.update(service.Change{Settings: &settings})
	case what == 3:
		m.do(raftfsm.SetHostStatus{ID: host.ID, Status: pick(m.T, spec.HostActive, spec.HostDraining)})
	case what == 4 && host.Lost():
		again := *host
		m.do(raftfsm.PutHost{Host: again})
	case what == 4:
		m.do(raftfsm.MarkHostLost{ID: host.ID, At: m.now})
	case what == 5 && m.web().LastCompleted() != nil && m.rollout().Status == service.RolloutInProgress:
		m.do(raftfsm.RollBackService{Cluster: spec.DefaultCluster, Name: "web", Rollout: m.rollout().ID, At: m.now})
	case what == 10:
		m.answer(pick(m.T, service.HookContinue, service.HookContinue, service.HookRollback))
	case task != nil && what == 6:
		m.do(raftfsm.StopTask{ID: task.ID, Code: pick(m.T, spec.StopUserInitiated, spec.StopPreempted), At: m.now})
	case task != nil && what == 7:
		m.do(raftfsm.ProtectTasks{Cluster: spec.DefaultCluster, Tasks: []string{task.ID}, Until: m.now.Add(pick(m.T, time.Minute, time.Hour))})
	}
}

// answer answers the first hook that waits, with CONTINUE where there is nothing to go back to.
func (m *mess) answer(action service.HookAction) {
	if m.rollout() == nil || !m.rollout().Paused() {
		return
	}
	if m.web().LastCompleted() == nil {
		action = service.HookContinue
	}
	waits := slices.IndexFunc(m.rollout().Pauses, func(p service.Pause) bool { return p.Status == service.HookAwaiting })
	m.do(raftfsm.ContinueService{Cluster: spec.DefaultCluster, Name: "web", Rollout: m.rollout().ID, Hook: m.rollout().Pauses[waits].ID, Action: action, EventID: m.newID(), At: m.now})
}

// converge leaves the service in peace with a revision that works, on hosts that do, and checks what it becomes.
func (m *mess) converge(strategy service.Strategy) {
	for _, host := range m.View().Hosts("") {
		again := *host
		m.do(raftfsm.PutHost{Host: again})
		m.do(raftfsm.SetHostStatus{ID: host.ID, Status: spec.HostActive})
	}
	settings := service.Settings{} // stop-first, or what a DAEMON does
	m.putHost(8, 8)
	if strategy == service.Replica && rapid.Bool().Draw(m.T, "room for twice as many") {
		settings = percents(100, 200)
		m.putHost(9, 20)
	}
	settings.Rebalancing = pick(m.T, "", service.Rebalanced)
	m.update(service.Change{Settings: &settings})
	m.deploy(pick(m.T, "good:1", "checked:2"))
	m.run(200)
	m.now = m.now.Add(time.Hour) // whatever was protected is not any more
	m.run(200)
	s, live := m.web(), m.live()
	want := s.Desired
	if strategy == service.Daemon && want != len(m.View().Hosts("")) {
		m.Fatalf("%d hosts, desired %d", len(m.View().Hosts("")), want)
	}
	if len(live) != want || len(m.healthy()) != want || s.Primary().State != service.Completed || s.Conditions.Steady.IsZero() || len(s.Deployments) != 1 {
		m.Fatalf("%d live, %d healthy, want %d: %+v", len(live), len(m.healthy()), want, s)
	}
	if s.Rebalances() {
		m.checkBalanced(true)
	}
	before := m.steps
	if m.run(100); m.steps > before {
		m.Fatalf("%d entries for nothing: %+v", m.steps-before, m.web().Events)
	}
}
