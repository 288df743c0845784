package dispatch

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/routing"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/tasknetwork"
	"pinion/raftfsm/traffic"
)

// someRouting draws a Routing of a few parts, by id.
func someRouting(t *rapid.T) traffic.Routing {
	var r traffic.Routing
	for i := range 4 {
		if port := rapid.IntRange(0, 2).Draw(t, "port"); port > 0 {
			r.Listeners = append(r.Listeners, traffic.Listener{ID: fmt.Sprint("l", i), Port: port})
		}
		if targets := rapid.IntRange(0, 2).Draw(t, "targets"); targets > 0 {
			r.Groups = append(r.Groups, traffic.Group{ID: fmt.Sprint("g", i), Targets: make([]traffic.Target, targets)})
		}
		if subnet := rapid.IntRange(0, 2).Draw(t, "subnet"); subnet > 0 {
			r.TaskNetworks = append(r.TaskNetworks, tasknetwork.Route{HostID: fmt.Sprint("h", i), Subnet: fmt.Sprintf("10.32.%d.0/24", subnet)})
		}
	}
	return r
}

// A delta leads from any Routing to any other, and has nothing of what is the same in both.
func TestADeltaOfTheRoutingIsTheDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := someRouting(t), someRouting(t)
		next := &versionedRouting{after, digestsOf(&after)}
		delta, needed := digestsOf(&before).diff(next)
		if needed == reflect.DeepEqual(before, after) {
			t.Fatalf("needed %t: %+v, %+v", needed, before, after)
		}
		if got := delta.apply(before); !reflect.DeepEqual(got, after) {
			t.Fatalf("%+v\nthen %+v\nis   %+v", before, delta, got)
		}
		for _, l := range delta.Listeners {
			for _, known := range before.Listeners {
				if reflect.DeepEqual(l, known) {
					t.Fatalf("listener %s is sent, and has not changed", l.ID)
				}
			}
		}
	})
}

// Who waits for the Routing is woken by a change of it, and by no other change.
func TestAChangeOfTheRoutingWakesWhoWaits(t *testing.T) {
	state, index := raftfsm.NewState(), uint64(0)
	do := func(c raftfsm.Command) {
		t.Helper()
		if index++; true {
			if _, err := state.Apply(index, c); err != nil {
				t.Fatal(err)
			}
		}
	}
	do(raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}})
	r := routings{of: routing.Compute}
	empty, changed := r.current(state, "of none")
	do(raftfsm.PutHost{Host: spec.Host{ID: "h", Address: "h:7400"}})
	<-changed // it may be another one, and is not
	if now, _ := r.current(state, "of none"); now != empty {
		t.Error("a host makes another Routing")
	}
	waited := make(chan *versionedRouting)
	go func() {
		next, _ := r.wait(context.Background(), state, "of none", empty)
		waited <- next
	}()
	do(raftfsm.Wrap(loadbalancer.CreateGroup{Group: loadbalancer.Group{ID: "g", Name: "web", Protocol: traffic.HTTP}}))
	if next := <-waited; len(next.Groups) != 1 || next.Groups[0].ID != "g" {
		t.Errorf("%+v", next)
	}
}

// A host gets the names of its own cluster's namespace, and the groups of all: what it says of requests in flight is about each target.
func TestAHostGetsTheNamesOfItsCluster(t *testing.T) {
	state := raftfsm.NewState()
	for i, cluster := range []string{"lab", "prod"} {
		for j, c := range []raftfsm.Command{raftfsm.CreateCluster{Cluster: spec.Cluster{Name: cluster}}, raftfsm.PutHost{Host: spec.Host{ID: cluster, Name: cluster, Cluster: cluster, Address: cluster + ":7400"}}} {
			if _, err := state.Apply(uint64(2*i+j+1), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	named := func(id string, clusters ...string) traffic.Listener {
		return traffic.Listener{ID: id, Virtual: &traffic.Virtual{Name: id, Number: 2, Clusters: clusters}}
	}
	whole := traffic.Routing{Listeners: []traffic.Listener{{ID: "all"}, named("llm.lab", "lab"), named("llm.both", "lab", "prod")}, Groups: []traffic.Group{{ID: "llm.lab"}}}
	r := routings{of: func(*raftfsm.View) traffic.Routing { return whole }}
	for host, want := range map[string]int{"lab": 3, "prod": 2, "nobody": 1} {
		got, _ := r.current(state, host)
		if again, _ := r.current(state, host); len(got.Listeners) != want || len(got.Groups) != 1 || again != got {
			t.Errorf("host %s: %+v", host, got)
		}
	}
}
