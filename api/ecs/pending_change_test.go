package ecs

import (
	"strings"
	"testing"
	"time"

	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/iam"
)

// Every change of pending and running tasks is held to the key's teams and to its highest priority, before anything is recorded.
func TestAKeyChangesPendingTasksOfItsTeamsUpToItsPriority(t *testing.T) {
	ten := 10
	vision := accesskey.Grant{Teams: []string{"vision"}, MaxPriority: &ten}
	for call, allowed := range map[string]bool{
		`HoldTasks {"cluster":"lab","tasks":["taskvision"]}`:                         true,
		`HoldTasks {"cluster":"lab","tasks":["taskvision","taskspeech"]}`:            false,
		`HoldTasks {"cluster":"lab","tasks":["task"]}`:                               false,
		`ReleaseTasks {"cluster":"lab","tasks":["taskvision"]}`:                      true,
		`ReleaseTasks {"cluster":"lab","tasks":["taskspeech"]}`:                      false,
		`RequeueTasks {"cluster":"lab","tasks":["taskvision"]}`:                      true,
		`RequeueTasks {"cluster":"lab","tasks":["taskspeech"]}`:                      false,
		`SetTaskPriority {"cluster":"lab","tasks":["taskvision"],"priority":10}`:     true,
		`SetTaskPriority {"cluster":"lab","tasks":["taskvision"],"priority":11}`:     false,
		`SetTaskPriority {"cluster":"lab","tasks":["taskspeech"],"priority":1}`:      false,
		`SetTaskPriority {"cluster":"lab","tasks":["taskvision"],"priority":0}`:      true,
		`SetTaskPriority {"cluster":"lab","tasks":["task","tasknone"],"priority":0}`: false,
	} {
		s := newGrantStore(t)
		before := s.index
		operation, input, _ := strings.Cut(call, " ")
		err := s.callWith(t, vision, operation, input)
		if denied := errorType(err) == wire.AccessDenied; denied == allowed || denied && s.index != before {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// A role is not the caller's word: what an administrator holds stays held for a key that may only submit, and another cluster's task is not
// found in this one.
func TestASubmitKeyCannotReleaseWhatAnAdministratorHolds(t *testing.T) {
	s := newGrantStore(t)
	call := func(role accesskey.Role, operation, input string) (*changedTasksOutput, error) {
		r := &Request{Region: "us-east-1", Principal: iam.OwnerARN(string(role)), Role: role, View: s.state.View(), Store: s, Now: func() time.Time { return time.Unix(1, 0) }}
		bound, err := Operations[operation].Prepare(r, []byte(input), wire.DecodeJSON)
		if err != nil {
			return nil, err
		}
		out, err := bound.Run(t.Context())
		if err != nil {
			return nil, err
		}
		return out.(*changedTasksOutput), nil
	}
	const input = `{"cluster":"lab","tasks":["taskvision"]}`
	for _, role := range []accesskey.Role{accesskey.RoleAdmin, accesskey.RoleSubmit} {
		if out, err := call(role, "HoldTasks", input); err != nil || len(out.TaskARNs) != 1 {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	if out, err := call(accesskey.RoleSubmit, "ReleaseTasks", input); err != nil || len(out.Failures) != 1 || s.state.View().Task("taskvision").Hold.By != iam.OwnerARN("admin") {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := call(accesskey.RoleAdmin, "ReleaseTasks", input); err != nil || len(out.TaskARNs) != 1 || s.state.View().Task("taskvision").Hold != nil {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := call(accesskey.RoleSubmit, "HoldTasks", `{"cluster":"other","tasks":["taskvision"]}`); errorType(err) != wire.InvalidParameter {
		t.Errorf("%v", err)
	}
	for _, wrong := range []string{`{"cluster":"lab","tasks":[]}`, `{"cluster":"lab","tasks":["taskvision"]}`, `{"cluster":"lab","tasks":["taskvision"],"priority":101}`} {
		if _, err := call(accesskey.RoleAdmin, "SetTaskPriority", wrong); errorType(err) != wire.InvalidParameter {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// A task that is held from the beginning has no moment in which it could start.
func TestRunTaskHoldsWhatItIsToHold(t *testing.T) {
	const held = `{"cluster":"lab","taskDefinition":"mine:1","tags":[{"key":"pinion.hold","value":"true"}]`
	s := newGrantStore(t)
	if err := s.callWith(t, accesskey.Grant{}, "RunTask", held+`,"capacityProviderStrategy":[{"capacityProvider":"PINION"}]}`); err != nil || s.run == nil || s.run.Hold == nil || s.run.Hold.By != "me" || s.run.Hold.Admin {
		t.Errorf("%v, %+v", err, s.run)
	}
	if s = newGrantStore(t); errorType(s.callWith(t, accesskey.Grant{}, "RunTask", held+`}`)) != wire.InvalidParameter || s.run != nil {
		t.Errorf("what does not wait cannot be held: %+v", s.run)
	}
}
