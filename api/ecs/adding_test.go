package ecs

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/spec"
)

type countTasksInput struct {
	Cluster string `json:"cluster"`
}

type countTasksOutput struct {
	Running int `json:"runningCount"`
}

func countTasks(_ context.Context, r *Request, in *countTasksInput) (*countTasksOutput, error) {
	cluster, err := r.Cluster(in.Cluster)
	if err != nil {
		return nil, err
	}
	out := &countTasksOutput{}
	for _, task := range r.View.Tasks(cluster.Name) {
		if task.LastStatus == spec.Running {
			out.Running++
		}
	}
	return out, nil
}

// addedOperations is the table of operations with one more line.
var addedOperations = operationTable(
	read("CountTasks", auth.InCluster("cluster"), countTasks),
)

// One function and one line are an operation with all that belongs to it: decoding, strictness, roles and clusters.
func TestAnOperationIsOneFunctionAndOneLine(t *testing.T) {
	state := raftfsm.NewState()
	if _, err := state.Apply(1, raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}}); err != nil {
		t.Fatal(err)
	}
	operation := addedOperations["CountTasks"]
	if operation.Role != accesskey.RoleRead || operation.Writes || operation.Input.Name() != "countTasksInput" {
		t.Errorf("%+v", operation)
	}
	call := func(body string, c Request) (string, error) {
		c.View = state.View()
		prepared, err := operation.Prepare(&c, []byte(body), wire.DecodeJSON)
		if err != nil {
			return "", err
		}
		answer, err := prepared.Run(t.Context())
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(answer)
		return string(text), err
	}
	if got, err := call(`{"cluster":"default"}`, Request{}); err != nil || got != `{"runningCount":0}` {
		t.Errorf("%s, %v", got, err)
	}
	for body, c := range map[string]struct {
		call Request
		kind string
	}{
		`{"cluster":1}`:         {Request{}, wire.Serialization},
		`{"clusterr":"x"}`:      {Request{Strictness: wire.Strict}, wire.Client},
		`{"cluster":"nope"}`:    {Request{}, "ClusterNotFoundException"},
		`{"cluster":"default"}`: {Request{KeyClusters: "lab"}, wire.AccessDenied},
	} {
		_, err := call(body, c.call)
		if refusal, ok := errors.AsType[*wire.Error](err); !ok || refusal.Type != c.kind {
			t.Errorf("%s: %v, want %s", body, err, c.kind)
		}
	}
}
