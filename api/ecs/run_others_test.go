package ecs

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

// runAs runs a task as a key does, and returns the tasks of the answer.
func (f *fixture) runAs(t *testing.T, keyID string, scope auth.KeyClusters, body string) (ids []string, err error) {
	t.Helper()
	r := &Request{Region: "us-east-1", Principal: keyID, Owner: keyID, KeyClusters: scope, MaxCount: 10, View: f.state.View(), Store: f, Now: func() time.Time { return epoch }}
	bound, err := Operations["RunTask"].Prepare(r, []byte(body), wire.DecodeJSON)
	if err != nil {
		return nil, err
	}
	before := slices.Collect(f.state.View().TasksAfter(spec.DefaultCluster, ""))
	if _, err := bound.Run(t.Context()); err != nil {
		return nil, err
	}
	for task := range f.state.View().TasksAfter(spec.DefaultCluster, "") {
		if !slices.ContainsFunc(before, func(old *spec.Task) bool { return old.ID == task.ID }) {
			ids = append(ids, task.ID)
		}
	}
	return ids, nil
}

// The token of one key stands in the way of no other, and tells no other what it started.
func TestAClientTokenBelongsToItsKey(t *testing.T) {
	f := ready(t)
	const body, other = `{"taskDefinition":"tensorflow-1-gpu","clientToken":"nightly"}`, `{"taskDefinition":"tensorflow-1-gpu","clientToken":"nightly","group":"g"}`
	for _, c := range []struct {
		key, body string
		started   int
	}{{"AKIA1", body, 1}, {"AKIA1", body, 0}, {"AKIA2", other, 1}, {"AKIA2", other, 0}} {
		if ids, err := f.runAs(t, c.key, "", c.body); err != nil || len(ids) != c.started {
			t.Errorf("key %q: started %q, %v", c.key, ids, err)
		}
	}
	if _, err := f.runAs(t, "AKIA1", "", other); err == nil || !strings.Contains(err.Error(), "clientToken was used before") {
		t.Errorf("its own token with another request: %v", err)
	}
}

// What is not a key's business cannot be waited for: when the task starts would tell when the other ended, and how.
func TestATaskOfAnotherClusterIsNothingToWaitFor(t *testing.T) {
	s := newGrantStore(t)
	ask := func(scope auth.KeyClusters) error {
		r := &Request{Principal: "me", Owner: "AKIA1", KeyClusters: scope, View: s.state.View(), Store: s}
		return checkTaskDependencies(r, &spec.RunRequest{Cluster: "other", Tags: []spec.Tag{{Key: spec.TagAfter, Value: "task"}}})
	}
	unknown := ask("other")
	if err := ask("lab,other"); err != nil {
		t.Errorf("a key for both: %v", err)
	}
	if err := ask(""); err != nil {
		t.Errorf("a key for all: %v", err)
	}
	if unknown == nil || errors.As(unknown, new(*wire.Error)) {
		t.Errorf("a key for another cluster: %v", unknown)
	}
}

// Nor can a task or a group of another team.
func TestATaskOfAnotherTeamIsNothingToWaitFor(t *testing.T) {
	s := newGrantStore(t)
	for _, c := range []struct {
		teams []string
		after string
		known bool
	}{
		{nil, "taskspeech", true}, {[]string{"speech"}, "taskspeech", true}, {[]string{"vision"}, "taskspeech", false}, {[]string{"vision"}, "task", false},
		{nil, "group:speech-group", true}, {[]string{"speech"}, "group:speech-group", true}, {[]string{"vision"}, "any:group:speech-group", false},
	} {
		r := &Request{Principal: "me", Owner: "AKIA1", Grant: accesskey.Grant{Teams: c.teams}, View: s.state.View(), Store: s}
		err := checkTaskDependencies(r, &spec.RunRequest{Cluster: "lab", Tags: []spec.Tag{{Key: spec.TagAfter, Value: c.after}}})
		if (err == nil) != c.known {
			t.Errorf("a key for %q waits for %s: %v", c.teams, c.after, err)
		}
	}
}
