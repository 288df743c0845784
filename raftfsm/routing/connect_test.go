package routing_test

import (
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// withNames is withService, with a service that has names in place of load balancers.
func withNames(t *testing.T, e service.Endpoint) *state {
	s := withService(t, "bridge")
	e.PortName, e.Container, e.Port = "http", "web", 8000
	s.must(raftfsm.UpdateService{Cluster: "default", Name: "web", Change: service.Change{
		Revision: &service.Revision{ID: "2", Definition: "d:1", Connect: &service.Connect{Namespace: "default", Endpoints: []service.Endpoint{e}}},
		Rollout:  &service.Rollout{ID: "r2"},
	}})
	task := &spec.Task{ID: "u", Cluster: "default", Definition: "d:1", LastStatus: spec.Running, DesiredStatus: spec.Running, HostID: "h",
		Service:    &spec.ServiceMember{ID: "s", Deployment: "2"},
		Containers: []spec.Container{{ID: "c2", Name: "web", LastStatus: spec.Running, Bindings: []spec.NetworkBinding{{ContainerPort: 8000, HostPort: 32769, Protocol: "tcp"}}}}}
	s.must(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: "default", Tasks: []*spec.Task{task}}}})
	return s
}

// Each name of a port has a listener at an address of its own, and leads to the tasks of the deployments that have it.
func TestNamesLeadToTasks(t *testing.T) {
	s := withNames(t, service.Endpoint{Name: "llm", Protocol: "grpc", IdleSeconds: new(60), RequestSeconds: 5, Aliases: []service.Alias{{Name: "chat", Port: 80}}})
	s.must(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "other"}}, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "beside", Namespace: "default"}})
	r := routing.Compute(s.View())
	g := r.Groups[len(r.Groups)-1]
	if g.ID != "llm.default" || g.Protocol != traffic.HTTP || g.Version != traffic.GRPC || len(g.Targets) != 1 || g.Targets[0].ID != "llm.default/u/web/8000" || g.Targets[0].Address != "[fd00::1]:32769" {
		t.Errorf("%+v", g)
	}
	numbers := map[string]int{}
	for _, l := range r.Listeners {
		numbers[l.ID] = l.Virtual.Number
		if l.Port != 80 || l.Rules[0].Action.Forward[0].Group != "llm.default" || l.Protocol != traffic.HTTP || l.IdleTimeout != time.Minute || l.RequestTimeout != 5*time.Second {
			t.Errorf("%+v", l)
		}
	}
	if len(numbers) != 2 || numbers["llm.default:80"] != 3 || numbers["chat.default:80"] != 2 {
		t.Errorf("%v", numbers)
	}
	for cluster, want := range map[string]int{"beside": 2, "other": 0} {
		if got := len(r.For(cluster).Listeners); got != want {
			t.Errorf("the hosts of %s have %d listeners, want %d", cluster, got, want)
		}
	}
}

// A port that says no protocol carries connections, and the names of a service vanish with it.
func TestNamesVanishWithTheirService(t *testing.T) {
	s := withNames(t, service.Endpoint{})
	isOurs := func(g traffic.Group) bool { return g.ID == "http.default" }
	r := routing.Compute(s.View())
	if i := slices.IndexFunc(r.Groups, isOurs); i < 0 || r.Groups[i].Protocol != traffic.TCP || len(r.Listeners) != 1 || r.Listeners[0].Port != 8000 {
		t.Errorf("%+v", r)
	}
	s.must(raftfsm.DeleteService{Cluster: "default", Name: "web", Force: true})
	for _, id := range []string{"t", "u"} {
		s.must(raftfsm.StopTask{ID: id, Code: spec.StopUserInitiated}, raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: id, Status: spec.Stopped}}})
	}
	known := s.View().ServiceByID("s")
	s.must(raftfsm.StepService{ServiceID: "s", Version: known.Version, Service: *known})
	if r := routing.Compute(s.View()); len(r.Listeners) > 0 || slices.ContainsFunc(r.Groups, isOurs) {
		t.Errorf("%+v", r)
	}
}

// While the traffic of a service moves, it moves for those that ask for its names, too; what has the header of test traffic goes to the new tasks before.
func TestTheTrafficOfNamesMoves(t *testing.T) {
	exact := "yes"
	e := service.Endpoint{Name: "llm", Protocol: "http", PortName: "http", Container: "web", Port: 8000, Aliases: []service.Alias{{Name: "chat", Port: 80, Test: &service.TestHeader{Name: "x-test", Exact: &exact}}}}
	s := withNames(t, e)
	before := s.View().ServiceRevision("2").Connect
	s.must(raftfsm.UpdateService{Cluster: "default", Name: "web", At: time.Unix(9, 0), Change: service.Change{
		Settings: &service.Settings{Deployment: service.DeploymentConfiguration{Strategy: service.BlueGreen}},
		Revision: &service.Revision{ID: "3", Definition: "d:1", Connect: before.SelectGroup(before, true)}, Rollout: &service.Rollout{ID: "r3", CreatedAt: time.Unix(9, 0)}}})
	for _, c := range []struct {
		shift       service.Shift
		old, new    int
		testIsMoved bool
	}{
		{service.Shift{From: "2", Stage: service.StageScaleUp}, 1000, 0, false},
		{service.Shift{From: "2", Stage: service.StageTestTraffic}, 1000, 0, true},
		{service.Shift{From: "2", Stage: service.StageProduction, PerMille: 255}, 745, 255, true},
		{service.Shift{}, 0, 1, false},
	} {
		web := *s.View().Service("default", "web")
		version := web.Version
		web.Shift = c.shift
		s.must(raftfsm.StepService{ServiceID: web.ID, Version: version, Service: web, At: time.Unix(10, 0)})
		for _, l := range routing.Compute(s.View()).Listeners {
			weights, test := map[string]int{}, l.Rules[0]
			for _, w := range l.Rules[len(l.Rules)-1].Action.Forward {
				weights[w.Group] = w.Weight
			}
			if weights["llm.default"] != c.old || weights["llm.default+alternate"] != c.new {
				t.Errorf("%+v: %s has %v", c.shift, l.ID, weights)
			}
			if moved := len(l.Rules) == 2; moved != c.testIsMoved || moved && (test.Action.Forward[0].Group != "llm.default+alternate" ||
				test.Conditions[0].Field != traffic.ExactHeader || test.Conditions[0].Header != "x-test" || test.Conditions[0].Values[0] != exact) {
				t.Errorf("%+v: the rules of %s are %+v", c.shift, l.ID, l.Rules)
			}
		}
	}
}

// A cluster that leaves its namespace takes its names out of it: else who may change the namespace of one cluster could take names, leave, and have
// them lead to its tasks in the cluster that gets the namespace later.
func TestNamesOfANamespaceThatTheClusterHasLeftLeadNowhere(t *testing.T) {
	s := withNames(t, service.Endpoint{})
	s.must(raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "later", Namespace: "default"}})
	if got := len(routing.Compute(s.View()).For("later").Listeners); got != 1 {
		t.Fatalf("%d listeners while both have the namespace", got)
	}
	left := "elsewhere"
	s.must(raftfsm.UpdateCluster{Name: "default", Namespace: &left})
	if r := routing.Compute(s.View()).For("later"); len(r.Listeners) > 0 {
		t.Errorf("%+v", r.Listeners)
	}
	left = ""
	s.must(raftfsm.UpdateCluster{Name: "default", Namespace: &left})
	if got := len(routing.Compute(s.View()).For("later").Listeners); got != 1 {
		t.Errorf("%d listeners after it came back", got)
	}
}
