package taskrole_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/credential"
	"pinion/raftfsm/iam"
	"pinion/raftfsm/raftfsmtest"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskrole"
)

func role(name, id string, rights accesskey.Role) taskrole.Role {
	return taskrole.Role{Name: name, ID: id, Rights: accesskey.Rights{Role: rights}, CreatedAt: raftfsmtest.Epoch}
}

// Other rights are those of the same role; a role that is made anew is another one.
func TestARoleKeepsItsIDUntilItIsRemoved(t *testing.T) {
	s := raftfsmtest.New(t)
	raftfsmtest.Change(s, taskrole.Put{Role: role("a", "1", accesskey.RoleRead)})
	raftfsmtest.Change(s, taskrole.Put{Role: role("a", "2", accesskey.RoleSubmit)})
	if got := taskrole.Find(s.View(), "a"); got.ID != "1" || got.Rights.Role != accesskey.RoleSubmit {
		t.Errorf("%+v", got)
	}
	if key := credential.OfOwner(s.View(), "role/a"); key == nil || key.Role != accesskey.RoleSubmit || key.Owner() != "role/a" {
		t.Errorf("%+v", key)
	}
	raftfsmtest.Refuse(s, taskrole.Delete{Name: "b"}, spec.ErrNotFound)
	raftfsmtest.Change(s, taskrole.Delete{Name: "a"})
	raftfsmtest.Change(s, taskrole.Put{Role: role("a", "3", accesskey.RoleRead)})
	if got := taskrole.Find(s.View(), "a"); got.ID != "3" {
		t.Errorf("%+v", got)
	}
}

func TestRolesAreBounded(t *testing.T) {
	s := raftfsmtest.New(t)
	for i := range taskrole.Max {
		raftfsmtest.Change(s, taskrole.Put{Role: role(fmt.Sprint(i), "", accesskey.RoleRead)})
	}
	raftfsmtest.Refuse(s, taskrole.Put{Role: role("one more", "", accesskey.RoleRead)}, taskrole.ErrTooMany)
	raftfsmtest.Change(s, taskrole.Put{Role: role("0", "", accesskey.RoleAdmin)})
	if !errors.Is(taskrole.ErrTooMany, spec.ErrLimit) {
		t.Error("it is no limit")
	}
}

func TestTheIDOfAKeySaysItsTaskAndItsEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		task := rapid.StringMatching(`[0-9a-f]{32}`).Draw(t, "task")
		end := raftfsmtest.At(rapid.IntRange(0, 1<<20).Draw(t, "minutes")).UTC()
		id, known := taskrole.NewKeyID(task, end)
		gotTask, gotEnd, is := taskrole.ParseKeyID(id)
		if !known || !is || gotTask != task || gotEnd.Sub(end).Abs() >= 1e9 {
			t.Fatalf("%s is of task %s until %v", id, gotTask, gotEnd)
		}
	})
	for _, id := range []string{"", "AKIAIOSFODNN7EXAMPLE", "ASIA", "ASIAIOSFODNN7EXAMPLE", "ASIA" + strings.Repeat("1", 32), "ASIA" + strings.Repeat("A", 40)} {
		if _, _, is := taskrole.ParseKeyID(id); is {
			t.Errorf("%s is taken for the key of a task", id)
		}
	}
	for _, task := range []string{"", "task", strings.Repeat("0", 34)} {
		if id, known := taskrole.NewKeyID(task, raftfsmtest.Epoch); known {
			t.Errorf("task %q has the key %s", task, id)
		}
	}
}

func TestNamesOfRoles(t *testing.T) {
	for name, fine := range map[string]bool{"trainer": true, "a+b=c,d.e@f-g_h": true, strings.Repeat("x", 64): true, "": false, "a/b": false, "a b": false, strings.Repeat("x", 65): false} {
		if err := taskrole.CheckName(name); (err == nil) != fine {
			t.Errorf("%q: %v", name, err)
		}
	}
	for arn, want := range map[string]string{"trainer": "trainer", "arn:aws:iam::123456789012:role/trainer": "trainer", "arn:aws:iam::123456789012:role/of/a/path/trainer": "trainer", "": ""} {
		if got := iam.RoleName(arn); got != want {
			t.Errorf("%q names %q", arn, got)
		}
	}
}
