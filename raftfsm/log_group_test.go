package raftfsm

import (
	"errors"
	"fmt"
	"testing"

	"pinion/raftfsm/spec"
)

func TestLogGroupsAreCreatedOnceAndDeletedWithTheirRetention(t *testing.T) {
	h := newHistory(t)
	h.do(t, CreateLogGroup{spec.LogGroup{Name: "research", CreatedAt: epoch}})
	refuse(t, h, CreateLogGroup{spec.LogGroup{Name: "research"}}, spec.ErrInUse)
	refuse(t, h, SetLogRetention{Name: "other", Days: 1}, spec.ErrNotFound)
	refuse(t, h, DeleteLogGroup{Name: "other"}, spec.ErrNotFound)
	h.do(t, SetLogRetention{Name: "research", Days: 3})
	h.do(t, SetTags{Kind: spec.ResourceLogGroup, ID: "research", Put: []spec.Tag{{Key: "k", Value: "v"}}})
	if got := h.View().LogGroup("research"); got.RetentionDays != 3 || len(got.Tags) != 1 || !got.CreatedAt.Equal(epoch) {
		t.Errorf("%+v", got)
	}
	h.do(t, SetLogRetention{Name: "research"})
	if got := h.View().LogGroup("research"); got.RetentionDays != 0 || len(got.Tags) != 1 {
		t.Errorf("%+v", got)
	}
	h.do(t, DeleteLogGroup{Name: "research"})
	if got := h.View().LogGroups(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestLogGroupsAreBounded(t *testing.T) {
	h := newHistory(t)
	for i := range spec.MaxLogGroups {
		h.do(t, CreateLogGroup{spec.LogGroup{Name: fmt.Sprint(i), CreatedAt: epoch}})
	}
	refuse(t, h, CreateLogGroup{spec.LogGroup{Name: "one more"}}, spec.ErrTooManyLogGroups)
}

func TestDeletedLogGroupsAreRememberedForAWhile(t *testing.T) {
	h := newHistory(t)
	deletedAt := func(name string) int { return int(h.View().LogsDeletedAt(name).Sub(epoch).Minutes()) }
	h.do(t, CreateLogGroup{spec.LogGroup{Name: "a", CreatedAt: epoch, RetentionDays: 30}})
	h.do(t, DeleteLogGroup{Name: "a", At: at(1)})
	h.do(t, DeleteLogGroup{Name: "named by a definition", At: at(2)})
	h.do(t, CreateLogGroup{spec.LogGroup{Name: "a", CreatedAt: at(3)}})
	if got := h.View().LogGroups(); len(got) != 1 || deletedAt("a") != 1 || deletedAt("named by a definition") != 2 {
		t.Errorf("%+v", got)
	}
	h.do(t, Reap{Before: at(3).Add(spec.LogRetention)})
	if got := h.View().DeletedLogGroups(); len(got) != 1 || got[0].Name != "a" || !got[0].Exists() {
		t.Errorf("%+v", got)
	}
	for i := range spec.MaxLogGroups + 1 {
		h.do(t, DeleteLogGroup{Name: fmt.Sprint(i), At: at(10 + i)})
	}
	if got := h.View().DeletedLogGroups(); len(got) != spec.MaxLogGroups+1 || !h.View().LogsDeletedAt("0").IsZero() {
		t.Errorf("%d are remembered", len(got))
	}
}

func refuse(t *testing.T, h *history, c Command, want error) {
	t.Helper()
	if _, err := h.try(t, c); !errors.Is(err, want) {
		t.Errorf("%#v: %v, want %v", c, err, want)
	}
}
