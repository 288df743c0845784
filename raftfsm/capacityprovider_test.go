package raftfsm

import (
	"errors"
	"testing"
)

func TestAQueueInUseStays(t *testing.T) {
	h := newHistory(t)
	night := CapacityProvider{Name: "night", CreatedAt: epoch}
	uses := func(names ...string) Command {
		c := PutClusterCapacityProviders{Cluster: DefaultCluster, Providers: names}
		for _, name := range names {
			c.Strategy = append(c.Strategy, CapacityProviderStrategyItem{CapacityProvider: name, Weight: 1})
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
		{"named before it is there", uses("night"), ErrNotFound},
		{"made", CreateCapacityProvider{night}, nil},
		{"made twice", CreateCapacityProvider{night}, ErrInUse},
		{"the built-in one is there", CreateCapacityProvider{CapacityProvider{Name: BuiltinCapacityProvider}}, ErrInUse},
		{"and stays", DeleteCapacityProvider{Name: BuiltinCapacityProvider}, ErrInUse},
		{"named by a cluster", uses("night", BuiltinCapacityProvider), nil},
		{"deleted while it is named", DeleteCapacityProvider{Name: "night", At: at(1)}, ErrInUse},
		{"a task waits in it", LaunchTasks{[]Launch{{Cluster: DefaultCluster, Tasks: []*Task{waits}}}}, nil},
		{"taken away meanwhile", uses(), ErrInUse},
		{"the task is stopped", StopTask{ID: "a", At: at(1)}, nil},
		{"taken away", uses(), nil},
		{"named by a new cluster", CreateCluster{Cluster{Name: "lab", CapacityProviders: []string{"night"}}}, nil},
		{"deleted while the new cluster names it", DeleteCapacityProvider{Name: "night", At: at(1)}, ErrInUse},
		{"the new cluster is deleted", DeleteCluster{Name: "lab", At: at(1)}, nil},
		{"tagged", SetTags{Kind: TaggedProvider, ID: "night", Put: []Tag{{"a", "b"}}}, nil},
		{"the built-in one is not tagged", SetTags{Kind: TaggedProvider, ID: BuiltinCapacityProvider, Put: []Tag{{"a", "b"}}}, ErrInUse},
		{"deleted", DeleteCapacityProvider{Name: "night", At: at(2)}, nil},
		{"deleted twice", DeleteCapacityProvider{Name: "night", At: at(2)}, ErrNotFound},
		{"tagged when it is deleted", SetTags{Kind: TaggedProvider, ID: "night", Put: []Tag{{"a", "c"}}}, ErrInactive},
		{"named by a new cluster when it is deleted", CreateCluster{Cluster{Name: "den", CapacityProviders: []string{"night"}}}, ErrNotFound},
	} {
		if _, err := h.try(t, step.command); !errors.Is(err, step.want) || err == nil != (step.want == nil) {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if got := h.View().CapacityProviders(); len(got) != 2 || got[0].Name != BuiltinCapacityProvider || got[1].Status != CapacityProviderInactive || len(got[1].Tags) != 1 {
		t.Errorf("%+v", got)
	}
	h.do(t, Reap{Before: at(3)})
	if got := h.View().CapacityProvider("night"); got != nil {
		t.Errorf("still there: %+v", got)
	}
}
