package server

import (
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// ECS shows when the health of an instance changed last; the leader's clock is the one that counts.
func TestTheLeaderNotesWhenTheHealthOfGPUsChanged(t *testing.T) {
	var c clock
	cfg := config(t.TempDir())
	cfg.Now = c.now
	s := start(t, cfg)
	joinWith(t, s, 2)
	noted := func(want time.Time) {
		t.Helper()
		if got := view(t, s).Host(hostID).HealthAt; !got.Equal(want) {
			t.Errorf("changed at %v, want %v", got, want)
		}
	}
	noted(day0)
	c.pass(time.Minute)
	joinWith(t, s, 2)
	noted(day0)

	sick := *view(t, s).Host(hostID)
	sick.GPUs.Devices = []gpu.Device{sick.GPUs.Devices[0], {UUID: "GPU-1", Index: 1, Health: gpu.Unhealthy, Problem: "Xid 79"}}
	if _, err := s.agents.Join(t.Context(), sick, nil); err != nil {
		t.Fatal(err)
	}
	noted(day0.Add(time.Minute))
}

// A host needs no more than the name of its cluster, whether that was deleted or never there.
func TestAHostBringsADeletedClusterBack(t *testing.T) {
	s := start(t, config(t.TempDir()))
	apply(t, s, raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab"}})
	apply(t, s, raftfsm.DeleteCluster{Name: "lab"})
	if _, err := s.agents.Join(t.Context(), spec.Host{ID: "one", Name: "one", Cluster: "lab"}, nil); err != nil {
		t.Fatal(err)
	}
	if k := view(t, s).Cluster("lab"); k.Status != spec.ClusterActive {
		t.Errorf("%+v", k)
	}
}
