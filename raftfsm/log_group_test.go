package raftfsm

import (
	"errors"
	"fmt"
	"testing"

	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/spec"
)

func TestLogGroupsAreCreatedOnceAndDeletedWithTheirRetention(t *testing.T) {
	h := newHistory(t)
	h.do(t, Wrap(loggroup.Create{Group: loggroup.Group{Name: "research", CreatedAt: epoch}}))
	refuse(t, h, Wrap(loggroup.Create{Group: loggroup.Group{Name: "research"}}), spec.ErrInUse)
	refuse(t, h, Wrap(loggroup.SetRetention{Name: "other", Days: 1}), spec.ErrNotFound)
	refuse(t, h, Wrap(loggroup.Delete{Name: "other"}), spec.ErrNotFound)
	h.do(t, Wrap(loggroup.SetRetention{Name: "research", Days: 3}))
	h.do(t, SetTags{Kind: spec.ResourceLogGroup, ID: "research", Put: []spec.Tag{{Key: "k", Value: "v"}}})
	if got := loggroup.Find(h.View(), "research"); got.RetentionDays != 3 || len(got.Tags) != 1 || !got.CreatedAt.Equal(epoch) {
		t.Errorf("%+v", got)
	}
	h.do(t, Wrap(loggroup.SetRetention{Name: "research"}))
	if got := loggroup.Find(h.View(), "research"); got.RetentionDays != 0 || len(got.Tags) != 1 {
		t.Errorf("%+v", got)
	}
	h.do(t, Wrap(loggroup.Delete{Name: "research"}))
	if got := loggroup.All(h.View()); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestLogGroupsAreBounded(t *testing.T) {
	h := newHistory(t)
	for i := range loggroup.Max {
		h.do(t, Wrap(loggroup.Create{Group: loggroup.Group{Name: fmt.Sprint(i), CreatedAt: epoch}}))
	}
	refuse(t, h, Wrap(loggroup.Create{Group: loggroup.Group{Name: "one more"}}), loggroup.ErrTooMany)
}

func TestDeletedLogGroupsAreRememberedForAWhile(t *testing.T) {
	h := newHistory(t)
	deletedAt := func(name string) int { return int(loggroup.DeletedAt(h.View(), name).Sub(epoch).Minutes()) }
	h.do(t, Wrap(loggroup.Create{Group: loggroup.Group{Name: "a", CreatedAt: epoch, RetentionDays: 30}}))
	h.do(t, Wrap(loggroup.Delete{Name: "a", At: at(1)}))
	h.do(t, Wrap(loggroup.Delete{Name: "named by a definition", At: at(2)}))
	h.do(t, Wrap(loggroup.Create{Group: loggroup.Group{Name: "a", CreatedAt: at(3)}}))
	if got := loggroup.All(h.View()); len(got) != 1 || deletedAt("a") != 1 || deletedAt("named by a definition") != 2 {
		t.Errorf("%+v", got)
	}
	h.do(t, Reap{Before: at(3).Add(spec.LogRetention)})
	if got := loggroup.Deleted(h.View()); len(got) != 1 || got[0].Name != "a" || !got[0].Exists() {
		t.Errorf("%+v", got)
	}
	for i := range loggroup.Max + 1 {
		h.do(t, Wrap(loggroup.Delete{Name: fmt.Sprint(i), At: at(10 + i)}))
	}
	if got := loggroup.Deleted(h.View()); len(got) != loggroup.Max+1 || !loggroup.DeletedAt(h.View(), "0").IsZero() {
		t.Errorf("%d are remembered", len(got))
	}
}

func refuse(t *testing.T, h *history, c Command, want error) {
	t.Helper()
	if _, err := h.try(t, c); !errors.Is(err, want) {
		t.Errorf("%#v: %v, want %v", c, err, want)
	}
}
