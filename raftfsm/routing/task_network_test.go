package routing_test

import (
	"slices"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
)

// A task with an address of its own is reached there, at any port of its containers, and every host is told by which host.
func TestATaskOfAwsvpcIsATargetAtItsOwnAddress(t *testing.T) {
	s := withService(t, "awsvpc")
	port := service.LoadBalancer{Group: "g", Container: "web", Port: 8000}
	if target, is := routing.TargetOf(s.View(), s.View().Task("t"), port); is {
		t.Errorf("it is a target before it has an address: %+v", target)
	}
	s.must(raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "t", Status: spec.Running, Containers: []spec.ContainerReport{{Name: "web", Status: spec.Running, Address: "10.32.0.7"}}}}})
	if got := routing.Compute(s.View()).TaskNetworks; len(got) != 0 {
		t.Errorf("a host without a network has %+v", got)
	}
	host := *s.View().Host("h")
	host.TaskNetwork = &tasknetwork.Network{Name: "lab", Range: "10.32.0.0/16"}
	s.must(raftfsm.PutHost{Host: host})
	if target, is := routing.TargetOf(s.View(), s.View().Task("t"), port); !is || target.Address != "10.32.0.7:8000" {
		t.Errorf("%+v", target)
	}
	want := []tasknetwork.Route{{Network: "lab", Range: "10.32.0.0/16", Subnet: "10.32.0.0/24", HostID: "h", Via: "fd00::1"}}
	if got := routing.Compute(s.View()).TaskNetworks; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	s.must(raftfsm.MarkHostLost{ID: "h", At: time.Unix(1, 0)})
	if got := routing.Compute(s.View()).TaskNetworks; len(got) != 0 {
		t.Errorf("a lost host has %+v", got)
	}
}

// A task whose host has lost the subnet is no target: its address may be that of another task by now.
func TestATaskOutsideTheSubnetOfItsHostIsNoTarget(t *testing.T) {
	s := withService(t, "awsvpc")
	host := *s.View().Host("h")
	host.TaskNetwork = &tasknetwork.Network{Name: "lab", Range: "10.32.0.0/16"}
	s.must(raftfsm.PutHost{Host: host},
		raftfsm.ReportTasks{HostID: "h", Reports: []spec.TaskReport{{TaskID: "t", Status: spec.Running, Containers: []spec.ContainerReport{{Name: "web", Status: spec.Running, Address: "10.32.0.7"}}}}})
	for _, changed := range []*tasknetwork.Network{{Name: "lab", Range: "10.40.0.0/16"}, nil} {
		host.TaskNetwork = changed
		s.must(raftfsm.PutHost{Host: host})
		if target, is := routing.TargetOf(s.View(), s.View().Task("t"), service.LoadBalancer{Group: "g", Container: "web", Port: 8000}); is {
			t.Errorf("with the network %v of its host it is %+v", changed, target)
		}
	}
}
