package routing_test

import (
	"fmt"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/service"
	"pinion/raftfsm/traffic"
)

// A service divides what the rule gives its two groups by how far its traffic has moved; other groups of the rule keep their share.
func TestARuleFollowsTheTrafficOfItsService(t *testing.T) {
	s := withService(t, "bridge")
	balancer := service.LoadBalancer{Group: "g", Container: "web", Port: 8000, Advanced: service.Advanced{Group: "g", Alternate: "a", Production: "r", Test: "q"}}
	forward := func(groups ...traffic.WeightedGroup) traffic.Action { return traffic.Action{Forward: groups} }
	for _, id := range []string{"a", "canary"} {
		s.must(raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: id, Name: id, Protocol: traffic.HTTP}}))
	}
	s.must(raftfsm.Wrap(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b", Name: "front", Type: loadbalancer.Application}}))
	for port, rule := range map[int]loadbalancer.Rule{
		80: {ID: "r", Action: forward(traffic.WeightedGroup{Group: "g", Weight: 3}, traffic.WeightedGroup{Group: "canary", Weight: 1})},
		81: {ID: "q", Action: forward(traffic.WeightedGroup{Group: "a", Weight: 1})},
	} {
		s.must(raftfsm.Wrap(loadbalancer.CreateListener{
			Listener: loadbalancer.Listener{ID: rule.ID, LoadBalancer: "b", Port: port, Protocol: traffic.HTTP}, Default: rule}))
	}
	weights := func() map[string]int {
		all := map[string]int{}
		for _, l := range routing.Compute(s.View()).Listeners {
			for _, w := range l.Rules[0].Action.Forward {
				all[l.ID+" "+w.Group] = w.Weight
			}
		}
		return all
	}
	deploy := func(id string, b service.LoadBalancer) {
		s.must(raftfsm.UpdateService{Cluster: "default", Name: "web", At: time.Unix(9, 0), Change: service.Change{
			Settings: &service.Settings{Deployment: service.DeploymentConfiguration{Strategy: service.Linear}},
			Revision: &service.Revision{ID: id, Definition: "d:1", LoadBalancers: []service.LoadBalancer{b}}, Rollout: &service.Rollout{ID: id, CreatedAt: time.Unix(9, 0)}}})
	}
	at := func(shift service.Shift) {
		web := s.View().Service("default", "web")
		after := *web
		after.Shift = shift
		s.must(raftfsm.StepService{ServiceID: web.ID, Version: web.Version, Service: after, At: time.Unix(10, 0)})
	}
	deploy("2", balancer)
	at(service.Shift{})
	if w := weights(); w["r g"] != 3000 || w["r a"] != 0 || w["r canary"] != 1000 || w["q g"] != 1000 {
		t.Errorf("all of it is blue: %v", w)
	}
	balancer.Group = "a"
	deploy("3", balancer)
	if w := weights(); w["r g"] != 3000 || w["r a"] != 0 || w["q g"] != 1000 {
		t.Errorf("green begins: %v", w)
	}
	at(service.Shift{From: "2", Stage: service.StageTestTraffic})
	if w := weights(); w["r g"] != 3000 || w["q a"] != 1000 || w["q g"] != 0 {
		t.Errorf("the test traffic has moved: %v", w)
	}
	at(service.Shift{From: "2", Stage: service.StageProduction, PerMille: 255})
	if w := weights(); w["r g"] != 3*745 || w["r a"] != 3*255 || w["r canary"] != 1000 {
		t.Errorf("a quarter has moved: %v", w)
	}
	at(service.Shift{})
	if w := weights(); w["r g"] != 0 || w["r a"] != 3000 {
		t.Errorf("all of it is green: %v", w)
	}
}

// Any number of services may name a rule, each of which divides it: the weights stay such that they can be added up, and no group that they do not
// divide loses its part.
func TestWeightsStayBoundedHoweverManyServicesDivideARule(t *testing.T) {
	s := withService(t, "bridge")
	for _, id := range []string{"blue", "green", "others"} {
		s.must(raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: id, Name: id, Protocol: traffic.TCP}}))
	}
	s.must(raftfsm.Wrap(loadbalancer.Create{LoadBalancer: loadbalancer.LoadBalancer{ID: "b", Name: "front", Type: loadbalancer.Network}}),
		raftfsm.Wrap(loadbalancer.CreateListener{Listener: loadbalancer.Listener{ID: "r", LoadBalancer: "b", Port: 90, Protocol: traffic.TCP},
			Default: loadbalancer.Rule{ID: "r", Action: traffic.Action{Forward: []traffic.WeightedGroup{{Group: "others", Weight: 999}, {Group: "blue", Weight: 999}}}}}))
	balancer := service.LoadBalancer{Group: "blue", Container: "web", Port: 8000, Advanced: service.Advanced{Group: "blue", Alternate: "green", Production: "r"}}
	for i := range 30 {
		id := fmt.Sprint("many-", i)
		s.must(raftfsm.CreateService{Service: service.Service{ID: id, Cluster: "default", Name: id, Strategy: service.Replica},
			Revision: service.Revision{ID: id, Definition: "d:1", LoadBalancers: []service.LoadBalancer{balancer, balancer}}, Rollout: service.Rollout{ID: id}})
	}
	part := map[string]int{}
	for _, w := range routing.Compute(s.View()).Listeners[0].Rules[0].Action.Forward {
		if w.Weight < 0 || w.Weight > traffic.MaxWeight {
			t.Errorf("%s has the weight %d", w.Group, w.Weight)
		}
		part[w.Group] += w.Weight
	}
	if part["others"] != part["blue"] || part["blue"] == 0 || part["green"] != 0 {
		t.Errorf("%v", part)
	}
}
