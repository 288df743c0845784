package raftfsm

import "testing"

func TestAPoolIsCreatedOnce(t *testing.T) {
	h := newHistory(t)
	again := h.do(t, CreatePool{Pool{ID: "other", CreatedAt: at(9)}}).(*Pool)
	if again.ID != "pool" || h.View().Pool().ID != "pool" {
		t.Errorf("the pool became %s", again.ID)
	}
	if c := h.View().Cluster(DefaultCluster); c == nil || c.Status != ClusterActive || !c.CreatedAt.Equal(epoch) {
		t.Errorf("default cluster: %+v", c)
	}
}

func TestCreateClusterIsIdempotentByName(t *testing.T) {
	h := newHistory(t)
	first := h.do(t, CreateCluster{Cluster{Name: "lab", CreatedAt: at(1)}}).(*Cluster)
	again := h.do(t, CreateCluster{Cluster{Name: "lab", CreatedAt: at(2), Tags: []Tag{{Key: "k"}}}}).(*Cluster)
	if first != again || len(h.View().Clusters()) != 2 {
		t.Errorf("%+v and %+v", first, again)
	}
}
