package loadbalancer_test

import (
	"errors"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/command"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// pool is a state that commands are applied to, one after another.
type pool struct {
	*testing.T
	*raftfsm.State
	index uint64
}

func newPool(t *testing.T) *pool {
	p := &pool{T: t, State: raftfsm.NewState()}
	p.must(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	p.must(raftfsm.PutHost{Host: spec.Host{ID: "h1", Name: "one", Cluster: spec.DefaultCluster, Address: "10.0.0.1:7400", Status: spec.HostActive, Ports: []int{22, 7400}, CPU: 4096, MemoryMiB: 4096}})
	p.must(do(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "a", Name: "front", Type: loadbalancer.Application}}))
	p.must(do(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "n", Name: "net", Type: loadbalancer.Network}}))
	p.must(do(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: "g", Name: "web", Protocol: traffic.HTTP, TargetType: loadbalancer.Instance}}))
	p.must(do(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: "t", Name: "tcp", Protocol: traffic.TCP, TargetType: loadbalancer.IP}}))
	return p
}

func do[C command.Command](c C) raftfsm.Command { return raftfsm.Wrap(c) }

func (p *pool) try(c raftfsm.Command) error {
	entry, err := raftfsm.Encode(c)
	if err != nil {
		p.Fatal(err)
	}
	if c, err = raftfsm.Decode(entry); err != nil {
		p.Fatal(err)
	}
	p.index++
	_, err = p.Apply(p.index, c)
	return err
}

func (p *pool) must(c raftfsm.Command) {
	p.Helper()
	if err := p.try(c); err != nil {
		p.Fatal(err)
	}
}

func to(group string) traffic.Action {
	return traffic.Action{Forward: []traffic.WeightedGroup{{Group: group, Weight: 1}}}
}

func listener(id, of string, port int, protocol traffic.Protocol, group string) raftfsm.Command {
	return do(loadbalancer.CreateListener{
		Listener: loadbalancer.Listener{ID: id, LoadBalancer: of, Port: port, Protocol: protocol},
		Default:  loadbalancer.Rule{ID: id, Action: to(group)},
	})
}

func rule(id, listener string, priority int) raftfsm.Command {
	return do(loadbalancer.CreateRule{Rule: loadbalancer.Rule{ID: id, Listener: listener, Priority: priority, Action: to("g")}})
}

func TestWhatIsRefused(t *testing.T) {
	p := newPool(t)
	p.must(listener("l", "a", 80, traffic.HTTP, "g"))
	p.must(listener("m", "n", 5432, traffic.TCP, "t"))
	p.must(rule("r", "l", 7))
	for name, c := range map[string]struct {
		command raftfsm.Command
		err     error
		says    string
	}{
		"a name that is taken":                {do(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b", Name: "front"}}), loadbalancer.ErrNameTaken, "front"},
		"a group's name that is taken":        {do(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: "b", Name: "web"}}), loadbalancer.ErrNameTaken, "web"},
		"the port of another listener":        {listener("k", "n", 80, traffic.TCP, "t"), loadbalancer.ErrPortTaken, "load balancer front"},
		"a port that moves to another's":      {do(loadbalancer.UpdateListener{ID: "m", Port: 80}), loadbalancer.ErrPortTaken, "load balancer front"},
		"Pinion's own port":                   {listener("k", "a", 7400, traffic.HTTP, "g"), loadbalancer.ErrPortOfHost, "host one itself"},
		"a group that is not there":           {listener("k", "a", 81, traffic.HTTP, "x"), loadbalancer.ErrNoGroup, "x"},
		"a group of another protocol":         {listener("k", "a", 81, traffic.HTTP, "t"), loadbalancer.ErrMisfit, "tcp"},
		"a listener of the wrong balancer":    {listener("k", "n", 81, traffic.HTTP, "g"), loadbalancer.ErrMisfit, "network"},
		"TLS without a certificate":           {listener("k", "a", 443, traffic.HTTPS, "g"), loadbalancer.ErrMisfit, "certificate"},
		"a rule's priority that is taken":     {rule("s", "l", 7), loadbalancer.ErrPriorityTaken, "7"},
		"a rule of a listener of connections": {rule("s", "m", 7), loadbalancer.ErrMisfit, "TCP"},
		"a change of the default rule":        {do(loadbalancer.UpdateRules{Changes: []loadbalancer.RuleChange{{ID: "l", Priority: 3}}}), loadbalancer.ErrDefaultRule, ""},
		"a default rule without its listener": {do(loadbalancer.Delete{Rule: "l"}), loadbalancer.ErrDefaultRule, ""},
		"a group that a rule names":           {do(loadbalancer.Delete{Group: "g"}), spec.ErrInUse, "rule"},
		"a target of a group of tasks":        {do(loadbalancer.UpdateGroup{ID: "g", Register: []loadbalancer.Target{{Address: "10.9.9.9", Port: 1}}}), loadbalancer.ErrMisfit, "web"},
	} {
		if err := p.try(c.command); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A listener's port is taken off every host, and a port of a task keeps a listener away.
func TestPortsHaveOneHolder(t *testing.T) {
	p := newPool(t)
	task := &spec.Task{ID: "t1", Cluster: spec.DefaultCluster, HostID: "h1", LastStatus: spec.Pending, DesiredStatus: spec.Running, Definition: "d:1", Ports: []int{8080}}
	p.must(raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "d", Containers: []spec.ContainerDefinition{{Name: "main"}}}})
	p.must(raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{task}}}})
	if err := p.try(listener("k", "a", 8080, traffic.HTTP, "g")); !errors.Is(err, loadbalancer.ErrPortOfHost) || !strings.Contains(err.Error(), "task t1") {
		t.Errorf("a listener on the port of a task: %v", err)
	}
	p.must(listener("l", "a", 9090, traffic.HTTP, "g"))
	if free := p.View().Free("h1"); !free.Ports[9090] || !free.Ports[8080] || free.Ports[80] {
		t.Errorf("taken: %v", free.Ports)
	}
	p.must(do(loadbalancer.Delete{LoadBalancer: "a"}))
	if free := p.View().Free("h1"); free.Ports[9090] {
		t.Error("the port of a listener that is gone is taken")
	}
	if left := loadbalancer.Rules(p.View(), "l"); len(left) > 0 {
		t.Errorf("the listener is gone, and its rules are not: %v", left)
	}
	p.must(do(loadbalancer.Delete{Group: "g"}))
}

// Priorities of rules may change places, and the default rule stays the last.
func TestRulesChangePlaces(t *testing.T) {
	p := newPool(t)
	p.must(listener("l", "a", 80, traffic.HTTP, "g"))
	p.must(rule("r", "l", 1))
	p.must(rule("s", "l", 2))
	p.must(do(loadbalancer.UpdateRules{Changes: []loadbalancer.RuleChange{{ID: "r", Priority: 2}, {ID: "s", Priority: 1}}}))
	var order []string
	for _, r := range loadbalancer.Rules(p.View(), "l") {
		order = append(order, r.ID)
	}
	if got := strings.Join(order, " "); got != "s r l" {
		t.Errorf("rules are evaluated in the order %s", got)
	}
}
