package raftfsm

import (
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestTasksAfterAnIDAreThoseOfTheClusterInOrder(t *testing.T) {
	h := newHistory(t)
	for _, cluster := range []string{"aaa", "zzz"} {
		h.do(t, CreateCluster{spec.Cluster{Name: cluster}})
		other := task("of "+cluster, "h1")
		other.Cluster = cluster
		h.launch(t, Launch{Cluster: cluster, Tasks: []*spec.Task{other}})
	}
	for _, id := range []string{"t3", "t1", "t2", "t10"} {
		h.running(t, task(id, "h1"))
	}
	v := h.View()
	for after, want := range map[string][]string{
		"": {"t1", "t10", "t2", "t3"}, "t1": {"t10", "t2", "t3"}, "t11": {"t2", "t3"}, "t3": nil, "z": nil,
	} {
		var got []string
		for task := range v.TasksAfter(spec.DefaultCluster, after) {
			got = append(got, task.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("after %q: %q, want %q", after, got, want)
		}
	}
	for range v.TasksAfter(spec.DefaultCluster, "") {
		break // whoever has enough may leave
	}
}
