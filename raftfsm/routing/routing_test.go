package routing_test

import (
	"strconv"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

type state struct {
	*testing.T
	*raftfsm.State
	index uint64
}

func (s *state) must(all ...raftfsm.Command) {
	s.Helper()
	for _, c := range all {
		s.index++
		if _, err := s.Apply(s.index, c); err != nil {
			s.Fatalf("%T: %v", c, err)
		}
	}
}

// withService is a pool of one host with a service of one task, which runs, of a definition in a network mode. The task's container has port
// 8000, which is port 32768 of the host in mode bridge.
func withService(t *testing.T, mode string) *state {
	s := &state{T: t, State: raftfsm.NewState()}
	container := spec.ContainerDefinition{Name: "web", PortMappings: []spec.PortMapping{{ContainerPort: 8000, Protocol: "tcp"}}}
	s.must(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}},
		raftfsm.PutHost{Host: spec.Host{ID: "h", Cluster: "default", Address: "[fd00::1]:7400", Status: spec.HostActive, CPU: 4096, MemoryMiB: 4096}},
		raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "d", NetworkMode: mode, Containers: []spec.ContainerDefinition{container}}},
		raftfsm.CreateService{
			Service: service.Service{ID: "s", Cluster: "default", Name: "web", Desired: 1, Strategy: service.Replica},
			Revision: service.Revision{ID: "1", Definition: "d:1", LoadBalancers: []service.LoadBalancer{
				{Group: "g", Container: "web", Port: 8000}, {Group: "g", Container: "web", Port: 9999}, {Group: "other", Container: "none", Port: 8000}}},
			Rollout: service.Rollout{ID: "r"},
		},
		raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{
			ID: "g", Name: "web", Protocol: traffic.HTTP, TargetType: loadbalancer.IP, Targets: []loadbalancer.Target{{Address: "10.1.1.1", Port: 80}},
			Attributes: map[string]string{loadbalancer.SlowStart: "30", loadbalancer.DeregistrationDelay: "5", "unheard.of": "kept"},
			Tags:       []spec.Tag{{Key: loadbalancer.TagAffinity, Value: "body:256"}, {Key: loadbalancer.TagMaxWaiting, Value: "0"}, {Key: loadbalancer.TagMaxInFlight, Value: "50"}, {Key: loadbalancer.TagWaitTimeout, Value: "90s"}},
		}}))
	task := &spec.Task{ID: "t", Cluster: "default", Definition: "d:1", LastStatus: spec.Running, DesiredStatus: spec.Running, HostID: "h",
		Service: &spec.ServiceMember{ID: "s", Deployment: "1"}, Containers: []spec.Container{{ID: "c", Name: "web", LastStatus: spec.Running}}}
	if mode != "host" {
		task.Containers[0].Bindings = []spec.NetworkBinding{{ContainerPort: 8000, HostPort: 32768, Protocol: "tcp"}}
	}
	s.must(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{task}}}})
	return s
}

// What a group has is put together with no look at the tasks of services that are not registered with it, however many those have. The runtime
// now and then allocates on its own, so the bound is one allocation for ten tasks.
func TestTheHealthOfAGroupLooksAtItsServicesAlone(t *testing.T) {
	s := withService(t, "bridge")
	s.must(raftfsm.CreateService{
		Service:  service.Service{ID: "big", Cluster: "default", Name: "big", Desired: 1, Strategy: service.Replica},
		Revision: service.Revision{ID: "2", Definition: "d:1", LoadBalancers: []service.LoadBalancer{{Group: "other", Container: "web", Port: 8000}}},
		Rollout:  service.Rollout{ID: "r2"},
	})
	v := s.View()
	group := loadbalancer.Groups(v)[0]
	before := testing.AllocsPerRun(10, func() { routing.Targets(v, group) })
	var tasks []*spec.Task
	for i := range 100 {
		tasks = append(tasks, &spec.Task{ID: "t" + strconv.Itoa(i), Cluster: "default", Definition: "d:1", LastStatus: spec.Running, DesiredStatus: spec.Running, HostID: "h",
			Service: &spec.ServiceMember{ID: "big", Deployment: "2"}, Containers: []spec.Container{{ID: "c", Name: "web", LastStatus: spec.Running,
				Bindings: []spec.NetworkBinding{{ContainerPort: 8000, HostPort: 32769 + i, Protocol: "tcp"}}}}})
	}
	s.must(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: tasks}}})
	v = s.View()
	if after := testing.AllocsPerRun(10, func() { routing.Targets(v, group) }); after > before+10 {
		t.Errorf("with 100 tasks of another service it takes %v allocations instead of about %v", after, before)
	}
	if got := routing.Targets(v, group); len(got) != 2 || got[0].ID != "g/t/web/8000" {
		t.Errorf("%+v", got)
	}
}

// The address of a task is that of its host, with the port that the container has there. A port that the container has not published is no
// target.
func TestTasksOfServicesAreTargets(t *testing.T) {
	for mode, address := range map[string]string{"bridge": "[fd00::1]:32768", "host": "[fd00::1]:8000"} {
		s := withService(t, mode)
		g := routing.Compute(s.View()).Groups[0]
		if len(g.Targets) < 2 || g.Targets[0].Address != address || g.Targets[0].ID != "g/t/web/8000" || g.Targets[0].State != traffic.Initial {
			t.Fatalf("%s: %+v", mode, g.Targets)
		}
		if last := g.Targets[len(g.Targets)-1]; last.Address != "10.1.1.1:80" {
			t.Errorf("%s: the registered target is %+v", mode, last)
		}
		found := traffic.TargetHealth{Group: "g", Container: "web", Port: 8000, State: traffic.Unhealthy, Since: time.Unix(8, 0)}
		s.must(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "t", Status: spec.Running, Targets: []traffic.TargetHealth{found}}}})
		if g := routing.Compute(s.View()).Groups[0]; g.Targets[0].State != traffic.Unhealthy || !g.Targets[0].Since.Equal(found.Since) {
			t.Errorf("%s: its host found %+v, and the target is %+v", mode, found, g.Targets[0])
		}
		s.must(raftfsm.StopTask{ID: "t", Code: spec.StopUserInitiated, At: time.Unix(9, 0)})
		if g := routing.Compute(s.View()).Groups[0]; g.Targets[0].State != traffic.Draining {
			t.Errorf("%s: the task is asked to stop, and its target is %+v", mode, g.Targets[0])
		}
		s.must(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "t", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: time.Unix(10, 0)}}}})
		if g := routing.Compute(s.View()).Groups[0]; len(g.Targets) != 1 {
			t.Errorf("%s: the task has stopped, and the targets are %+v", mode, g.Targets)
		}
	}
}

// Proxies learn once whose a group is, and of each target where several services have the group.
func TestWhoseARequestIs(t *testing.T) {
	s := withService(t, "host")
	if g := routing.Compute(s.View()).Groups[0]; g.Owner != (traffic.Owner{Cluster: "default", Service: "web"}) || g.Targets[0].Owner != nil {
		t.Errorf("of one service: %+v", g)
	}
	s.must(raftfsm.CreateService{
		Service:  service.Service{ID: "s2", Cluster: "default", Name: "canary", Desired: 1, Strategy: service.Replica, Tags: []spec.Tag{{Key: spec.TagTeam, Value: "vision"}}},
		Revision: service.Revision{ID: "2", Definition: "d:1", LoadBalancers: []service.LoadBalancer{{Group: "g", Container: "web", Port: 8000}}},
		Rollout:  service.Rollout{ID: "r2"},
	})
	s.must(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{{
		ID: "t2", Cluster: "default", Definition: "d:1", LastStatus: spec.Running, DesiredStatus: spec.Running, HostID: "h",
		Service: &spec.ServiceMember{ID: "s2", Deployment: "2"}, Containers: []spec.Container{{ID: "c2", Name: "web", LastStatus: spec.Running}},
	}}}}})
	g := routing.Compute(s.View()).Groups[0]
	if g.Owner != (traffic.Owner{}) {
		t.Errorf("of two services: %+v", g.Owner)
	}
	owners := map[string]traffic.Owner{}
	for _, target := range g.Targets {
		if target.Owner != nil {
			owners[target.ID] = *target.Owner
		}
	}
	if owners["g/t/web/8000"].Service != "web" || owners["g/t2/web/8000"] != (traffic.Owner{Cluster: "default", Team: "vision", Service: "canary"}) {
		t.Errorf("%+v", owners)
	}
}

func TestAttributesAndTagsReachTheProxies(t *testing.T) {
	s := withService(t, "bridge")
	s.must(
		raftfsm.Wrap(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{
			ID: "b", Name: "front", Type: loadbalancer.Application, Attributes: map[string]string{loadbalancer.IdleTimeout: "60", loadbalancer.XFFMode: "preserve", loadbalancer.XFFClientPort: "true"}}}),
		raftfsm.Wrap(loadbalancer.CreateListener{
			Listener: loadbalancer.Listener{ID: "l", LoadBalancer: "b", Port: 443, Protocol: traffic.HTTPS, Certificates: []loadbalancer.Certificate{{Name: "example.org"}}},
			Default:  loadbalancer.Rule{ID: "l", Action: traffic.Action{FixedResponse: &traffic.FixedResponse{StatusCode: 404}}}}),
		raftfsm.Wrap(loadbalancer.CreateRule{Rule: loadbalancer.Rule{ID: "r", Listener: "l", Priority: 1,
			Conditions: []traffic.Condition{{Field: traffic.PathPattern, Values: []string{"/api/*"}}}, Action: traffic.Action{Forward: []traffic.WeightedGroup{{Group: "g", Weight: 1}}}}}),
	)
	r := routing.Compute(s.View())
	l, g := r.Listeners[0], r.Groups[0]
	if l.IdleTimeout != time.Minute || l.XForwardedFor != traffic.XFFPreserve || !l.XFFClientPort || l.Certificates[0] != "example.org" {
		t.Errorf("%+v", l)
	}
	if len(l.Rules) != 2 || l.Rules[0].ID != "r" || l.Rules[1].Action.FixedResponse == nil {
		t.Errorf("%+v", l.Rules)
	}
	if g.SlowStart != 30*time.Second || g.DeregistrationDelay != 5*time.Second || g.MaxWaiting != -1 || g.MaxInFlight != 50 || g.WaitTimeout != 90*time.Second {
		t.Errorf("%+v", g)
	}
	if g.Affinity == nil || *g.Affinity != (traffic.Affinity{By: traffic.ByBody, Length: 256}) {
		t.Errorf("%+v", g.Affinity)
	}
}
