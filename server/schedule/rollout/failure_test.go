package rollout

import (
	"slices"
	"strings"
	"testing"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/gpufault"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

func breaker(rollback bool) service.Settings {
	return service.Settings{Deployment: service.DeploymentConfiguration{Breaker: &service.CircuitBreaker{Enable: true, Rollback: rollback}}}
}

// A broken revision is rolled back to the one that was completed, whose tasks go on meanwhile.
func TestABrokenRevisionIsRolledBack(t *testing.T) {
	for _, broken := range []string{"broken:1", "short:1", "sick:1"} {
		p := newPool(t, 2, 4)
		p.create(service.Service{Desired: 4, Settings: breaker(true)}, "good:1")
		p.run(15)
		first := p.web().Primary().ID
		p.deploy(broken)
		for range 60 {
			if p.run(1); len(p.healthy()) < 3 {
				t.Fatalf("%s: %d are healthy", broken, len(p.healthy()))
			}
		}
		p.expect("good:1", 4, 4)
		r := p.rollout()
		if p.web().Primary().ID != first || r.Status != service.RolloutRollbackSuccessful || !r.Tripped || r.Rollback.Revision != first {
			t.Errorf("%s: %+v, %+v", broken, p.web(), r)
		}
		if p.said("deployment failed: tasks failed to start") != 1 || p.said("rolling back to") != 1 {
			t.Errorf("%s: %+v", broken, p.web().Events)
		}
	}
}

func TestWithoutRollbackABrokenRevisionStartsNothingMore(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 2, Settings: breaker(false)}, "good:1")
	p.run(15)
	p.deploy("broken:1")
	p.run(30)
	p.expect("good:1", 2, 2)
	if d := p.web().Primary(); d.State != service.Failed || p.rollout().Status != service.RolloutStopped {
		t.Fatalf("%+v", d)
	}
	before := p.steps
	if p.run(600); p.steps != before {
		t.Errorf("%d more entries", p.steps-before)
	}
	p.deploy("good:2")
	p.run(30)
	p.expect("good:2", 2, 2)
}

// Tasks that fail are tried again after 1 s, 2 s, 4 s and so on, up to 5 minutes; an event says so once.
func TestACrashLoopBacksOff(t *testing.T) {
	for _, definition := range []string{"broken:1", "short:1"} {
		p := newPool(t, 1, 4)
		p.create(service.Service{Desired: 4}, definition)
		p.run(3600)
		if n := p.web().Primary().FailedTasks; n > 4*(9+12) || n < 4*12 {
			t.Errorf("%s: %d tasks failed in an hour", definition, n)
		}
		if p.steps > 2000 || p.said("is unable to consistently start tasks") != 0 && p.said("is unable to consistently start tasks") != 1 {
			t.Errorf("%s: %d entries", definition, p.steps)
		}
	}
}

// What is not the fault of a task is made good at once: a lost host, a user's stop, a preemption, a drained host.
func TestDisplacedTasksAreReplacedAtOnce(t *testing.T) {
	for name, displace := range map[string]func(p *pool, one *spec.Task){
		"lost host": func(p *pool, one *spec.Task) { p.do(raftfsm.MarkHostLost{ID: one.HostID, At: p.now}) },
		"stop": func(p *pool, one *spec.Task) {
			p.do(raftfsm.StopTask{ID: one.ID, Code: spec.StopUserInitiated, At: p.now})
		},
		"preempted": func(p *pool, one *spec.Task) { p.do(raftfsm.StopTask{ID: one.ID, Code: spec.StopPreempted, At: p.now}) },
		"drained":   func(p *pool, one *spec.Task) { p.do(raftfsm.SetHostStatus{ID: one.HostID, Status: spec.HostDraining}) },
	} {
		p := newPool(t, 3, 4)
		p.create(service.Service{Desired: 3}, "good:1")
		p.run(15)
		displace(p, p.live()[0])
		p.run(2)
		if n := len(p.live()); n < 3 || p.web().Primary().FailedTasks > 0 {
			t.Errorf("%s: %d live, %+v", name, n, p.web().Primary())
		}
		p.run(15)
		p.expect("good:1", 3, 3)
	}
}

// On a drained host the old tasks go on until the new ones are healthy.
func TestADrainedHostIsLeftWithoutAnOutage(t *testing.T) {
	p := newPool(t, 2, 4)
	p.create(service.Service{Desired: 4}, "good:1")
	p.run(15)
	host := p.live()[0].HostID
	p.do(raftfsm.SetHostStatus{ID: host, Status: spec.HostDraining})
	for range 30 {
		if p.run(1); len(p.healthy()) < 4 {
			t.Fatalf("%d are healthy", len(p.healthy()))
		}
	}
	for _, task := range p.live() {
		if task.HostID == host {
			t.Errorf("task %s is still there", task.ID)
		}
	}
}

// During the grace an unhealthy task is left alone: its model loads.
func TestAnUnhealthyTaskHasItsGrace(t *testing.T) {
	p := newPool(t, 1, 4)
	grace := 30
	p.create(service.Service{Desired: 1, Settings: service.Settings{GraceSeconds: &grace}}, "sick:1")
	p.run(29)
	first := p.live()[0]
	if len(p.live()) != 1 || p.web().Primary().FailedTasks != 0 {
		t.Fatalf("%+v", p.web())
	}
	p.run(10)
	if p.View().Task(first.ID).DesiredStatus != spec.Running || len(p.live()) != 2 {
		t.Errorf("its replacement is to be healthy first: %d live", len(p.live()))
	}
}

// A limit lets some start; the others are tried again, and an event says why.
func TestALimitIsSaidOnce(t *testing.T) {
	p := newPool(t, 1, 4)
	p.create(service.Service{Desired: 3}, "good:1")
	f := p.facts()
	f.StartAtMost, f.Limit = 2, "access key k may have 2 tasks"
	for i, want := range []int{2, 0} {
		step, wake, _ := Next(p.View(), p.web(), f)
		if len(step.Starts) != want || wake.IsZero() {
			t.Fatalf("%d starts, wakes at %s", len(step.Starts), wake)
		}
		if i == 0 {
			p.do(step)
		}
		f.StartAtMost = 0
	}
	if p.said("access key k may have 2 tasks") != 1 {
		t.Errorf("%+v", p.web().Events)
	}
}

func TestADaemonHasOneTaskOnEachHost(t *testing.T) {
	p := newPool(t, 3, 1)
	p.create(service.Service{Strategy: service.Daemon}, "good:1")
	p.run(15)
	p.expect("good:1", 3, 3)
	p.deploy("good:2")
	p.run(40)
	p.expect("good:2", 3, 3)
	p.do(raftfsm.SetHostStatus{ID: p.View().Hosts("")[0].ID, Status: spec.HostDraining})
	p.run(3)
	p.expect("good:2", 2, 2)
	p.putHost(7, 1)
	p.run(15)
	p.expect("good:2", 3, 3)
	on := map[string]int{}
	for _, task := range p.live() {
		on[task.HostID]++
	}
	if len(on) != 3 || p.web().Desired != 3 {
		t.Errorf("%v, desired %d", on, p.web().Desired)
	}
}

// Tasks leave a GPU that has failed when their cluster says so, and not before others are healthy. Those of a DAEMON have no other host.
func TestTasksLeaveAFailedGPUWithoutAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		policy   gpufault.Policy
		strategy service.Strategy
		health   gpu.Health
		leaves   bool
	}{
		"it needs a reset":           {gpufault.Move, service.Replica, gpu.NeedsReset, true},
		"it is to be exchanged":      {gpufault.Move, service.Replica, gpu.Replace, true},
		"nobody has said":            {"", service.Replica, gpu.NeedsReset, false},
		"they are kept":              {gpufault.Keep, service.Replica, gpu.NeedsReset, false},
		"it may be well":             {gpufault.Move, service.Replica, gpu.Suspect, false},
		"an administrator has it":    {gpufault.Move, service.Replica, gpu.Quarantined, false},
		"a DAEMON has no other host": {gpufault.Move, service.Daemon, gpu.NeedsReset, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool(t, 2, 4)
			p.do(raftfsm.UpdateCluster{Name: spec.DefaultCluster, Settings: []spec.Setting{{Name: gpufault.Setting, Value: string(c.policy)}}})
			p.create(service.Service{Desired: 2, Strategy: c.strategy}, "good:1")
			p.run(15)
			one := p.live()[0]
			host := *p.View().Host(one.HostID)
			host.GPUs.Devices = slices.Clone(host.GPUs.Devices)
			for i := range host.GPUs.Devices {
				if d := &host.GPUs.Devices[i]; d.UUID == one.GPUs()[0] {
					d.Health, d.Problem = c.health, "Xid 48"
				}
			}
			p.do(raftfsm.PutHost{Host: host})
			for range 60 {
				if p.run(1); len(p.healthy()) < 2 {
					t.Fatalf("%d are healthy", len(p.healthy()))
				}
			}
			left := p.View().Task(one.ID)
			if gone := left.DesiredStatus == spec.Stopped; gone != c.leaves || gone && !strings.Contains(left.StoppedReason, "Xid 48") {
				t.Errorf("it is to be %s: %s", left.DesiredStatus, left.StoppedReason)
			}
		})
	}
}
