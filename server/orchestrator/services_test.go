package orchestrator

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// serviceHistory has a host, a definition without demands, and n services of a task each; those of the key k have more than it may.
func serviceHistory(t *testing.T, n int, owner *spec.TaskOwner, desired int) *memProposer {
	p := &memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	p.do(t, raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	p.do(t, raftfsm.PutHost{Host: spec.Host{ID: "h", Name: "gpu-1", Cluster: spec.DefaultCluster, CPU: 9999, MemoryMiB: 9999}})
	p.do(t, raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c", Memory: 4}}}})
	p.do(t, raftfsm.Wrap(credential.Create{Key: accesskey.Key{ID: "k", Secret: "s", Grant: accesskey.Grant{MaxTasks: 2}}}))
	for i := range n {
		id := fmt.Sprint("s", i)
		p.do(t, raftfsm.CreateService{
			Service:  service.Service{ID: id, Cluster: spec.DefaultCluster, Name: id, Strategy: service.Replica, Desired: desired, Owner: owner},
			Revision: service.Revision{ID: id, Definition: "f:1"}, Rollout: service.Rollout{ID: id, CreatedAt: p.now},
		})
	}
	return p
}

func (p *memProposer) do(t *testing.T, c raftfsm.Command) {
	t.Helper()
	if _, err := p.Propose(t.Context(), c); err != nil {
		t.Fatalf("%T: %v", c, err)
	}
}

// reconcileAll takes steps until no service is to be looked at.
func (p *memProposer) reconcileAll(t *testing.T, s *Services) {
	t.Helper()
	for s.follower.CatchUp(); len(s.touched) > 0; s.follower.CatchUp() {
		if err := s.Reconcile(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func everywhere(string) bool { return true }

// As many tasks start as the limits of the owner's key allow; the service says why not more, and tries again.
func TestAServiceStartsWhatItsLimitsAllow(t *testing.T) {
	p := serviceHistory(t, 1, &spec.TaskOwner{Key: "k"}, 5)
	s := NewServices(p, everywhere, slog.New(slog.DiscardHandler))
	p.reconcileAll(t, s)
	known := p.state.View().ServiceByID("s0")
	if n := len(p.state.View().ServiceTasks("s0")); n != 2 || !strings.Contains(known.Events[0].Message, "--max-tasks") {
		t.Errorf("%d tasks, %+v", n, known.Events)
	}
	before := p.index
	p.reconcileAll(t, s)
	if at := s.wakes["s0"]; p.index != before || !at.After(p.now) {
		t.Errorf("%d entries for nothing, and it looks again at %s", p.index-before, at)
	}
}

// Of many services only those are looked at of which something has changed.
func TestOnlyServicesThatChangedAreLookedAt(t *testing.T) {
	p := serviceHistory(t, 20, nil, 1)
	s := NewServices(p, everywhere, slog.New(slog.DiscardHandler))
	p.reconcileAll(t, s)
	p.do(t, raftfsm.StopTask{ID: p.state.View().ServiceTasks("s7")[0].ID, At: p.now})
	if s.follower.CatchUp(); len(s.touched) != 1 || !s.touched["s7"] {
		t.Errorf("%v", s.touched)
	}
	p.do(t, raftfsm.SetHostStatus{ID: "h", Status: spec.HostDraining})
	if s.follower.CatchUp(); len(s.touched) != 1 {
		t.Errorf("none has a task on the host, and %v are looked at", s.touched)
	}
}

// BenchmarkServicesAfterALeaderChange is a term's first look at 1,000 services of 10 tasks each, of which nothing has to change.
func BenchmarkServicesAfterALeaderChange(b *testing.B) {
	p := &memProposer{state: raftfsm.NewState(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	do := func(c raftfsm.Command) {
		if _, err := p.Propose(b.Context(), c); err != nil {
			b.Fatalf("%T: %v", c, err)
		}
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	do(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "f", Containers: []spec.ContainerDefinition{{Name: "c", Memory: 4}}}})
	for i := range 1000 {
		id := fmt.Sprintf("s%04d", i)
		do(raftfsm.CreateService{Service: service.Service{ID: id, Cluster: spec.DefaultCluster, Name: id, Strategy: service.Replica, Desired: 10},
			Revision: service.Revision{ID: id, Definition: "f:1"}, Rollout: service.Rollout{ID: id, CreatedAt: p.now}})
	}
	s := NewServices(p, everywhere, slog.New(slog.DiscardHandler))
	for s.follower.CatchUp(); len(s.touched) > 0; s.follower.CatchUp() {
		if err := s.Reconcile(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		s.follower.Reset()
		s.follower.CatchUp()
		if steps := s.steps(p.state.View()); len(steps) > 0 {
			b.Fatalf("%d steps", len(steps))
		}
	}
}

// Nothing is stopped for tasks that would find no host with more room either: the only one is not connected.
func TestARolloutStopsNothingWhileNoHostTakesTasks(t *testing.T) {
	p := serviceHistory(t, 1, nil, 1)
	connected := true
	s := NewServices(p, func(string) bool { return connected }, slog.New(slog.DiscardHandler))
	p.reconcileAll(t, s)
	old := p.state.View().ServiceTasks("s0")[0]
	p.do(t, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: old.ID, HostID: "h"}}}})
	p.do(t, raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: old.ID, Status: spec.Running, Times: spec.TaskTimes{Started: p.now}}}})
	p.now = p.now.Add(time.Minute)
	p.reconcileAll(t, s)
	revision, rollout := &service.Revision{ID: "2", Definition: "f:1"}, &service.Rollout{ID: "2", CreatedAt: p.now}
	p.do(t, raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "s0", Change: service.Change{Revision: revision, Rollout: rollout}, At: p.now})
	p.reconcileAll(t, s)
	for _, connected = range []bool{false, true} {
		p.now = p.now.Add(time.Minute)
		s.touched["s0"] = true
		p.reconcileAll(t, s)
		if stops := p.state.View().Task(old.ID).DesiredStatus == spec.Stopped; stops != connected {
			t.Errorf("connected %t: the old task is to stop: %t", connected, stops)
		}
	}
}

// A rollout that was looked at while its only host was not connected goes on when the host is back, though nothing in the state has changed.
func TestARolloutGoesOnWhenItsHostIsHeardOfAgain(t *testing.T) {
	p := serviceHistory(t, 1, nil, 1)
	connected := true
	s := NewServices(p, func(string) bool { return connected }, slog.New(slog.DiscardHandler))
	p.reconcileAll(t, s)
	old := p.state.View().ServiceTasks("s0")[0]
	p.do(t, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: old.ID, HostID: "h"}}}})
	p.do(t, raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: old.ID, Status: spec.Running, Times: spec.TaskTimes{Started: p.now}}}})
	pass := func(d time.Duration) {
		p.now = p.now.Add(d)
		s.follower.CatchUp()
		s.touchDue()
		p.reconcileAll(t, s)
	}
	pass(time.Minute)
	revision, rollout := &service.Revision{ID: "2", Definition: "f:1"}, &service.Rollout{ID: "2", CreatedAt: p.now}
	p.do(t, raftfsm.UpdateService{Cluster: spec.DefaultCluster, Name: "s0", Change: service.Change{Revision: revision, Rollout: rollout}, At: p.now})
	pass(0)
	connected = false
	pass(6 * time.Second)
	connected = true
	if pass(time.Minute); p.state.View().Task(old.ID).DesiredStatus != spec.Stopped {
		t.Errorf("the old task still has its place, and the service is looked at again at %v", s.wakes)
	}
}

// A host in another availability zone that comes, or gets a GPU free, is one that a service moves a task to; a host that could not run it is none.
func TestAServiceMovesATaskToAZoneThatHasCome(t *testing.T) {
	p := serviceHistory(t, 0, nil, 0)
	host := func(id, zone string, memory int64) {
		p.do(t, raftfsm.PutHost{Host: spec.Host{ID: id, Name: id, Cluster: spec.DefaultCluster, CPU: 9999, MemoryMiB: memory, Attributes: map[string]string{spec.AttributeZone: zone}}})
	}
	host("h", "a", 9999)
	p.do(t, raftfsm.CreateService{
		Service:  service.Service{ID: "s0", Cluster: spec.DefaultCluster, Name: "s0", Strategy: service.Replica, Desired: 2, Settings: service.Settings{Rebalancing: service.Rebalanced}},
		Revision: service.Revision{ID: "1", Definition: "f:1"}, Rollout: service.Rollout{ID: "1", CreatedAt: p.now},
	})
	s := NewServices(p, everywhere, slog.New(slog.DiscardHandler))
	p.reconcileAll(t, s)
	for _, task := range p.state.View().ServiceTasks("s0") {
		p.do(t, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: task.ID, HostID: "h"}}}})
		p.do(t, raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: task.ID, Status: spec.Running, Times: spec.TaskTimes{Started: p.now}}}})
	}
	p.now = p.now.Add(time.Minute)
	p.reconcileAll(t, s)
	moves := func() service.Balance { return p.state.View().ServiceByID("s0").Conditions.Balance }
	host("small", "b", 1)
	if p.reconcileAll(t, s); moves() != (service.Balance{}) {
		t.Fatalf("no host of the zone could ever run it: %+v", moves())
	}
	host("i", "it's b", 9999)
	p.reconcileAll(t, s)
	started := p.state.View().Task(moves().Task)
	if started == nil || moves().Zone != "it's b" {
		t.Fatalf("%+v, %+v", moves(), p.state.View().ServiceByID("s0").Events)
	}
	request := schedule.RequestFor(p.state.View(), started, p.state.View().Definition("f:1"))
	if _, willing := schedule.HostsOf(p.state.View(), spec.DefaultCluster, everywhere).Refusals(request); willing != 1 {
		t.Errorf("%d hosts take it: %+v", willing, started.Queue)
	}
}
