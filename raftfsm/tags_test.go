package raftfsm

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm/spec"
)

func TestEveryKindOfResourceCanBeTagged(t *testing.T) {
	h := newHistory(t)
	h.running(t, task("t1", "h1", "h1-gpu0"))
	for kind, id := range map[spec.ResourceKind]string{spec.ResourceCluster: spec.DefaultCluster, spec.ResourceDefinition: "gpu:1", spec.ResourceTask: "t1", spec.ResourceHost: "h1"} {
		h.do(t, SetTags{Kind: kind, ID: id, Put: []spec.Tag{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}}})
		h.do(t, SetTags{Kind: kind, ID: id, Put: []spec.Tag{{Key: "b", Value: "3"}, {Key: "c", Value: ""}}, Remove: []string{"a", "none"}})
		want := []spec.Tag{{Key: "b", Value: "3"}, {Key: "c", Value: ""}}
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
	h.do(t, CreateCluster{spec.Cluster{Name: "lab"}})
	h.do(t, DeleteCluster{Name: "lab"})
	h.running(t, task("over", "h1"))
	h.report(t, "h1", spec.TaskReport{TaskID: "over", Status: spec.Stopped, Times: spec.TaskTimes{Stopped: at(2)}})
	var many []spec.Tag
	for i := range spec.MaxTags + 1 {
		many = append(many, spec.Tag{Key: fmt.Sprint(i)})
	}
	for _, c := range []struct {
		command SetTags
		want    error
	}{
		{SetTags{Kind: spec.ResourceTask, ID: "h1"}, spec.ErrNotFound},
		{SetTags{Kind: spec.ResourceDefinition, ID: "gpu"}, spec.ErrNotFound},
		{SetTags{Kind: "service", ID: "h1"}, spec.ErrNotFound},
		{SetTags{Kind: spec.ResourceCluster, ID: "lab"}, spec.ErrInactive},
		{SetTags{Kind: spec.ResourceTask, ID: "over"}, spec.ErrInactive},
		{SetTags{Kind: spec.ResourceHost, ID: "h1", Put: many}, spec.ErrTooManyTags},
	} {
		if _, err := h.try(t, c.command); !errors.Is(err, c.want) {
			t.Errorf("%s %s: %v, want %v", c.command.Kind, c.command.ID, err, c.want)
		}
	}
	h.do(t, SetTags{Kind: spec.ResourceHost, ID: "h1", Put: append(many[1:], spec.Tag{Key: "aws:ecs:clusterName", Value: "default"})})
}
