package raftfsm

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

func TestEveryKindOfResourceCanBeTagged(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	for kind, id := range map[Tagged]string{TaggedCluster: DefaultCluster, TaggedDefinition: "gpu:1", TaggedTask: "t1", TaggedHost: "h1"} {
		h.do(t, SetTags{Kind: kind, ID: id, Put: []Tag{{"a", "1"}, {"b", "2"}}})
		h.do(t, SetTags{Kind: kind, ID: id, Put: []Tag{{"b", "3"}, {"c", ""}}, Remove: []string{"a", "none"}})
		want := []Tag{{"b", "3"}, {"c", ""}}
		if got, err := h.View().TagsOf(kind, id); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v", kind, got, err)
		}
	}
	h.do(t, PutHost{hostWith("h1", 4)})
	if len(h.View().Host("h1").Tags) != 2 {
		t.Error("the host lost its tags when it came back")
	}
}

func TestWhatCannotBeTagged(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateCluster{Cluster{Name: "lab"}})
	h.do(t, DeleteCluster{Name: "lab"})
	h.running(t, task("over", "h1"))
	h.report(t, "h1", TaskReport{TaskID: "over", Status: Stopped, Times: TaskTimes{Stopped: at(2)}})
	var many []Tag
	for i := range MaxTags + 1 {
		many = append(many, Tag{Key: fmt.Sprint(i)})
	}
	for _, c := range []struct {
		command SetTags
		want    error
	}{
		{SetTags{Kind: TaggedTask, ID: "h1"}, ErrNotFound},
		{SetTags{Kind: TaggedDefinition, ID: "gpu"}, ErrNotFound},
		{SetTags{Kind: "service", ID: "h1"}, ErrNotFound},
		{SetTags{Kind: TaggedCluster, ID: "lab"}, ErrInactive},
		{SetTags{Kind: TaggedTask, ID: "over"}, ErrInactive},
		{SetTags{Kind: TaggedHost, ID: "h1", Put: many}, ErrTooManyTags},
	} {
		if _, err := h.try(t, c.command); !errors.Is(err, c.want) {
			t.Errorf("%s %s: %v, want %v", c.command.Kind, c.command.ID, err, c.want)
		}
	}
	h.do(t, SetTags{Kind: TaggedHost, ID: "h1", Put: append(many[1:], Tag{"aws:ecs:clusterName", "default"})})
}
