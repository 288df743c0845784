package rollout

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// newDaemon has daemon agent on each of the hosts, complete, deployed in parts of drain thousandths with a bake time of so many minutes.
func newDaemon(t tester, hosts int, drain int, bake int, definition string) *pool {
	p := newPool(t, hosts, 4)
	p.name = spec.DaemonPrefix + "agent"
	p.create(service.Service{Strategy: service.Daemon, Settings: drained(drain, bake)}, definition)
	return p
}

func drained(drain int, bake int) (s service.Settings) {
	s.Deployment = service.DeploymentConfiguration{DrainPerMille: &drain, BakeMinutes: &bake, Breaker: &service.CircuitBreaker{Enable: true, Rollback: true}}
	return s
}

// checkOnePerHost fails when a host has two tasks of the daemon that were not asked to stop.
func (p *pool) checkOnePerHost() {
	p.t.Helper()
	has := map[string]string{}
	for _, t := range p.live() {
		if other := has[hostOf(t)]; other != "" {
			p.t.Fatalf("host %s is to have the tasks %s and %s", hostOf(t), other, t.ID)
		}
		has[hostOf(t)] = t.ID
	}
}

// A deployment replaces a part of the tasks at a time, and one at least; the others run meanwhile.
func TestADaemonIsReplacedInParts(t *testing.T) {
	for _, c := range []struct {
		hosts int
		drain int
		least int // healthy tasks at any time
	}{{8, 250, 6}, {8, 125, 7}, {8, 0, 7}, {8, 1, 7}, {9, 250, 7}, {8, 1000, 0}, {1, 250, 0}, {3, 500, 2}} {
		p := newDaemon(t, c.hosts, c.drain, 0, "daemon/good:1")
		p.run(30)
		if len(p.healthy()) != c.hosts {
			t.Fatalf("%+v: %d healthy tasks at first", c, len(p.healthy()))
		}
		p.deploy("daemon/good:2")
		least := c.hosts
		for range 400 {
			p.run(1)
			p.checkOnePerHost()
			least = min(least, len(p.healthy()))
		}
		if least != c.least || p.web().Primary().State != service.Completed || len(p.healthy()) != c.hosts {
			t.Errorf("%+v: %d healthy tasks at least, %d then, %s", c, least, len(p.healthy()), p.web().Primary().State)
		}
	}
}

// The bake time keeps a deployment from the next hosts, and what fails meanwhile counts: the daemon goes back without the others having been touched.
func TestADaemonBakesOnEachHost(t *testing.T) {
	for _, definition := range []string{"daemon/good:2", "daemon/checked:1"} {
		p := newDaemon(t, 2, 500, 2, "daemon/good:1")
		p.run(300)
		p.deploy(definition)
		p.run(100)
		if old := countOf(p, "daemon/good:1"); old != 1 {
			t.Errorf("%s: while the first one bakes %d tasks are left of two", definition, old)
		}
		p.run(40)
		if old := countOf(p, "daemon/good:1"); old != 0 {
			t.Errorf("%s: when the first one is baked %d are left", definition, old)
		}
		p.run(200)
		if p.web().Primary().State != service.Completed {
			t.Errorf("%s: %+v", definition, p.web())
		}
		for _, task := range p.live()[:1] { // later on a task that is started again is healthy as soon as it may be
			p.do(raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated, At: p.now})
		}
		p.run(30)
		if healthy := Healthy(p.View(), p.web(), p.now); healthy != 2 {
			t.Errorf("%s: %d healthy tasks", definition, healthy)
		}
	}
	p := newDaemon(t, 4, 250, 1, "daemon/good:1")
	p.run(200)
	p.deploy("daemon/short:1")
	p.run(600)
	if r := p.rollout(); r.Status != service.RolloutRollbackSuccessful || countOf(p, "daemon/good:1") != 4 {
		t.Errorf("%+v, %d tasks of the first revision", r, countOf(p, "daemon/good:1"))
	}
}

func countOf(p *pool, definition string) (n int) {
	for _, t := range p.live() {
		if t.Definition == definition {
			n++
		}
	}
	return n
}

// The tags of a daemon's tasks are those of their revision, to which a rollback goes back.
func TestTheTasksOfADaemonHaveTheTagsOfTheirRevision(t *testing.T) {
	p := newPool(t, 1, 1)
	p.name = spec.DaemonPrefix + "agent"
	p.create(service.Service{Strategy: service.Daemon, Settings: drained(250, 0), Tags: []spec.Tag{{Key: "a", Value: "b"}}}, "daemon/good:1")
	has := func(key string) string {
		for _, tag := range p.live()[0].Tags {
			if tag.Key == key {
				return tag.Value
			}
		}
		return ""
	}
	p.run(30)
	if has("a") != "" || has(daemonTag) != "" {
		t.Errorf("%v", p.live()[0].Tags)
	}
	revision, rollout := p.revision("daemon/good:2")
	revision.Tagging = &service.Tagging{Propagate: "SERVICE", Managed: true}
	p.update(service.Change{Revision: revision, Rollout: rollout})
	p.run(30)
	if has("a") != "b" || has(daemonTag) != "agent" || has(clusterTag) != spec.DefaultCluster || p.live()[0].Group != "daemon:agent" {
		t.Errorf("%v", p.live()[0])
	}
}

// TestNoHostHasTwoTasksOfADaemon draws what happens to the hosts and the deployments of a daemon. No host ever is to have two tasks of it, and in
// peace each has one.
func TestNoHostHasTwoTasksOfADaemon(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		m := &mess{T: r, pool: newDaemon(r, rapid.IntRange(1, 6).Draw(r, "hosts"), rapid.IntRange(0, 1000).Draw(r, "drain"), pick(r, 0, 0, 1), "daemon/good:1")}
		for range rapid.IntRange(0, 20).Draw(r, "events") {
			switch what := rapid.IntRange(0, 5).Draw(r, "what"); what {
			case 0:
				m.deploy(pick(r, "daemon/good:1", "daemon/good:2", "daemon/checked:1", "daemon/broken:1", "daemon/short:1"))
			case 1:
				m.putHost(rapid.IntRange(0, 8).Draw(r, "host"), 4)
			case 2:
				settings := drained(rapid.IntRange(0, 1000).Draw(r, "drain"), pick(r, 0, 1))
				m.update(service.Change{Settings: &settings})
			default:
				m.happenToHost()
			}
			for range rapid.SampledFrom([]int{0, 1, 2, 5, 12, 80}).Draw(r, "seconds") {
				m.run(1)
				m.checkOnePerHost()
			}
		}
		m.convergeDaemon()
	})
}

// happenToHost drains a host, loses it or has it back, or stops a task.
func (m *mess) happenToHost() {
	host := pick(m.T, m.View().Hosts("")...)
	switch live := m.live(); pick(m.T, "drain", "lose", "back", "stop") {
	case "drain":
		m.do(raftfsm.SetHostStatus{ID: host.ID, Status: pick(m.T, spec.HostActive, spec.HostDraining)})
	case "lose":
		if !host.Lost() {
			m.do(raftfsm.MarkHostLost{ID: host.ID, At: m.now})
		}
	case "back":
		m.do(raftfsm.PutHost{Host: *host})
	case "stop":
		if len(live) > 0 {
			m.do(raftfsm.StopTask{ID: pick(m.T, live...).ID, Code: spec.StopUserInitiated, At: m.now})
		}
	}
}

// convergeDaemon has all hosts work and a revision that does, and checks that each has one healthy task.
func (m *mess) convergeDaemon() {
	for _, host := range m.View().Hosts("") {
		m.do(raftfsm.PutHost{Host: *host})
		m.do(raftfsm.SetHostStatus{ID: host.ID, Status: spec.HostActive})
	}
	settings := drained(500, 0)
	m.update(service.Change{Settings: &settings})
	m.deploy(pick(m.T, "daemon/good:1", "daemon/checked:2"))
	for range 400 {
		m.run(1)
		m.checkOnePerHost()
	}
	m.now = m.now.Add(time.Hour)
	m.run(10)
	if hosts := len(m.View().Hosts("")); len(m.live()) != hosts || len(m.healthy()) != hosts || m.web().Primary().State != service.Completed {
		m.Fatalf("%d hosts, %d live tasks, %d healthy: %+v", hosts, len(m.live()), len(m.healthy()), m.web())
	}
}
