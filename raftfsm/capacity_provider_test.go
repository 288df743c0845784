package raftfsm

import (
	"errors"
	"testing"

	"pinion/raftfsm/capacityprovider"
	"pinion/raftfsm/spec"
)

func TestAQueueInUseStays(t *testing.T) {
	h := newHistory(t)
	night := capacityprovider.Provider{Name: "night", CreatedAt: epoch}
	uses := func(names ...string) Command {
		c := PutClusterCapacityProviders{Cluster: spec.DefaultCluster, Providers: names}
		for _, name := range names {
			c.Strategy = append(c.Strategy, spec.CapacityProviderStrategyItem{CapacityProvider: name, Weight: 1})
		}
		return c
	}
	waits := waiting("a", 1)
	waits.CapacityProvider = "night"
	for _, step := range []struct {
		name    string
		command Command
		want    error
	}{
		{"named before it is there", uses("night"), spec.ErrNotFound},
		{"made", Wrap(capacityprovider.Create{Provider: night}), nil},
		{"made twice", Wrap(capacityprovider.Create{Provider: night}), spec.ErrInUse},
		{"the built-in one is there", Wrap(capacityprovider.Create{Provider: capacityprovider.Provider{Name: spec.BuiltinCapacityProvider}}), spec.ErrInUse},
		{"and stays", Wrap(capacityprovider.Delete{Name: spec.BuiltinCapacityProvider}), spec.ErrInUse},
		{"named by a cluster", uses("night", spec.BuiltinCapacityProvider), nil},
		{"deleted while it is named", Wrap(capacityprovider.Delete{Name: "night", At: at(1)}), spec.ErrInUse},
		{"a task waits in it", LaunchTasks{[]Launch{{Cluster: spec.DefaultCluster, Tasks: []*spec.Task{waits}}}}, nil},
		{"taken away meanwhile", uses(), spec.ErrInUse},
		{"the task is stopped", StopTask{ID: "a", At: at(1)}, nil},
		{"taken away", uses(), nil},
		{"named by a new cluster", CreateCluster{spec.Cluster{Name: "lab", CapacityProviders: []string{"night"}}}, nil},
		{"deleted while the new cluster names it", Wrap(capacityprovider.Delete{Name: "night", At: at(1)}), spec.ErrInUse},
		{"the new cluster is deleted", DeleteCluster{Name: "lab", At: at(1)}, nil},
		{"tagged", SetTags{Kind: spec.ResourceCapacityProvider, ID: "night", Put: []spec.Tag{{Key: "a", Value: "b"}}}, nil},
		{"the built-in one is not tagged", SetTags{Kind: spec.ResourceCapacityProvider, ID: spec.BuiltinCapacityProvider, Put: []spec.Tag{{Key: "a", Value: "b"}}}, spec.ErrInUse},
		{"deleted", Wrap(capacityprovider.Delete{Name: "night", At: at(2)}), nil},
		{"deleted twice", Wrap(capacityprovider.Delete{Name: "night", At: at(2)}), spec.ErrNotFound},
		{"tagged when it is deleted", SetTags{Kind: spec.ResourceCapacityProvider, ID: "night", Put: []spec.Tag{{Key: "a", Value: "c"}}}, spec.ErrInactive},
		{"named by a new cluster when it is deleted", CreateCluster{spec.Cluster{Name: "den", CapacityProviders: []string{"night"}}}, spec.ErrNotFound},
	} {
		if _, err := h.try(t, step.command); !errors.Is(err, step.want) || err == nil != (step.want == nil) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if got := capacityprovider.All(h.View()); len(got) != 2 || got[0].Name != spec.BuiltinCapacityProvider || got[1].Status != capacityprovider.Inactive || len(got[1].Tags) != 1 {
		t.Errorf("%+v", got)
	}
	h.do(t, Reap{Before: at(3)})
	if got := capacityprovider.Find(h.View(), "night"); got != nil {
		t.Errorf("still there: %+v", got)
	}
}
