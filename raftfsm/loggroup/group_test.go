package loggroup_test

import (
	"fmt"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/loggroup"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
)

func TestLogGroupsAreCreatedOnceAndDeletedWithTheirRetention(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, loggroup.Create{Group: loggroup.Group{Name: "research", CreatedAt: raftfsmtest.Epoch}})
	raftfsmtest.Refuse(s, loggroup.Create{Group: loggroup.Group{Name: "research"}}, spec.ErrInUse)
	raftfsmtest.Refuse(s, loggroup.SetRetention{Name: "other", Days: 1}, spec.ErrNotFound)
	raftfsmtest.Refuse(s, loggroup.Delete{Name: "other"}, spec.ErrNotFound)
	raftfsmtest.Change(s, loggroup.SetRetention{Name: "research", Days: 3})
	s.Do(raftfsm.SetTags{Kind: spec.ResourceLogGroup, ID: "research", Put: []spec.Tag{{Key: "k", Value: "v"}}})
	if got := loggroup.Find(s.View(), "research"); got.RetentionDays != 3 || len(got.Tags) != 1 || !got.CreatedAt.Equal(raftfsmtest.Epoch) {
		t.Errorf("%+v", got)
	}
	raftfsmtest.Change(s, loggroup.SetRetention{Name: "research"})
	if got := loggroup.Find(s.View(), "research"); got.RetentionDays != 0 || len(got.Tags) != 1 {
		t.Errorf("%+v", got)
	}
	raftfsmtest.Change(s, loggroup.Delete{Name: "research"})
	if got := loggroup.All(s.View()); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestLogGroupsAreBounded(t *testing.T) {
	s := raftfsmtest.New(t)
	for i := range loggroup.Max {
		raftfsmtest.Change(s, loggroup.Create{Group: loggroup.Group{Name: fmt.Sprint(i), CreatedAt: raftfsmtest.Epoch}})
	}
	raftfsmtest.Refuse(s, loggroup.Create{Group: loggroup.Group{Name: "one more"}}, loggroup.ErrTooMany)
}

func TestDeletedLogGroupsAreRememberedForAWhile(t *testing.T) {
	s := raftfsmtest.New(t)
	deletedAt := func(name string) int { return int(loggroup.DeletedAt(s.View(), name).Sub(raftfsmtest.Epoch).Minutes()) }
	raftfsmtest.Change(s, loggroup.Create{Group: loggroup.Group{Name: "a", CreatedAt: raftfsmtest.Epoch, RetentionDays: 30}})
	raftfsmtest.Change(s, loggroup.Delete{Name: "a", At: raftfsmtest.At(1)})
	raftfsmtest.Change(s, loggroup.Delete{Name: "named by a definition", At: raftfsmtest.At(2)})
	raftfsmtest.Change(s, loggroup.Create{Group: loggroup.Group{Name: "a", CreatedAt: raftfsmtest.At(3)}})
	if got := loggroup.All(s.View()); len(got) != 1 || deletedAt("a") != 1 || deletedAt("named by a definition") != 2 {
		t.Errorf("%+v", got)
	}
	s.Do(raftfsm.Reap{Before: raftfsmtest.At(3).Add(spec.LogRetention)})
	if got := loggroup.Deleted(s.View()); len(got) != 1 || got[0].Name != "a" || !got[0].Exists() {
		t.Errorf("%+v", got)
	}
	for i := range loggroup.Max + 1 {
		raftfsmtest.Change(s, loggroup.Delete{Name: fmt.Sprint(i), At: raftfsmtest.At(10 + i)})
	}
	if got := loggroup.Deleted(s.View()); len(got) != loggroup.Max+1 || !loggroup.DeletedAt(s.View(), "0").IsZero() {
		t.Errorf("%d are remembered", len(got))
	}
}
