package raftfsm

import (
	"testing"

	"pinion/raftfsm/spec"
)

func TestAPoolIsCreatedOnce(t *testing.T) {
	h := newHistory(t)
	again := h.do(t, CreatePool{spec.Pool{ID: "other", CreatedAt: at(9)}}).(*spec.Pool)
	if again.ID != "pool" || h.View().Pool().ID != "pool" {
		t.Errorf("the pool became %s", again.ID)
	}
	if c := h.View().Cluster(spec.DefaultCluster); c == nil || c.Status != spec.ClusterActive || !c.CreatedAt.Equal(epoch) {
		t.Errorf("default cluster: %+v", c)
	}
}

func TestCreateClusterIsIdempotentByName(t *testing.T) {
	h := newHistory(t)
	first := h.do(t, CreateCluster{spec.Cluster{Name: "lab", CreatedAt: at(1)}}).(*spec.Cluster)
	again := h.do(t, CreateCluster{spec.Cluster{Name: "lab", CreatedAt: at(2), Tags: []spec.Tag{{Key: "k"}}}}).(*spec.Cluster)
	if first != again || len(h.View().Clusters()) != 2 {
		t.Errorf("%+v and %+v", first, again)
	}
}
