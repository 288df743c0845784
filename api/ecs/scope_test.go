package ecs

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// stateStore is a store that applies commands to a state at once.
type stateStore struct {
	state *raftfsm.State
	index uint64
}

// View is the state as it is.
func (s *stateStore) View(context.Context) (*raftfsm.View, error) { return s.state.View(), nil }

func newStateStore(t testing.TB, commands ...raftfsm.Command) *stateStore {
	t.Helper()
	s := &stateStore{state: raftfsm.NewState()}
	for _, command := range append([]raftfsm.Command{raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}}}, commands...) {
		if _, err := s.Propose(context.Background(), command); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stateStore) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	s.index++
	return s.state.Apply(s.index, c)
}

func (s *stateStore) Run(context.Context, spec.RunRequest) (spec.RunResult, error) {
	return spec.RunResult{}, spec.ErrNoHosts
}

func (s *stateStore) Connected(string) bool { return true }

// call carries out an operation for a key of that scope.
func (s *stateStore) call(t testing.TB, o Operation, scope auth.KeyClusters, body string) (any, error) {
	r := &Request{Region: "us-east-1", Principal: "me", KeyClusters: scope, MaxCount: 10, View: s.state.View(), Store: s, Now: func() time.Time { return time.Unix(1, 0) }}
	bound, err := o.Prepare(r, []byte(body), wire.DecodeJSON)
	if err != nil {
		return nil, err
	}
	return bound.Run(t.Context())
}

func errorType(err error) string {
	if refusal, ok := errors.AsType[*wire.Error](err); ok {
		return refusal.Type
	}
	return ""
}

func newLabAndOther(t testing.TB) *stateStore {
	return newStateStore(t,
		raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "lab", Status: spec.ClusterActive}},
		raftfsm.CreateCluster{Cluster: spec.Cluster{Name: "other", Status: spec.ClusterActive}},
	)
}

const arnPrefix = "arn:aws:ecs:us-east-1:123456789012:"

// The clusters of a call are found in every form in which an input names them.
func TestAKeyForOneClusterIsHeldToItByEachMember(t *testing.T) {
	s := newLabAndOther(t)
	for _, c := range []struct {
		operation, body string
		denied          bool
	}{
		{"DescribeServiceDeployments", `{"serviceDeploymentArns":["` + arnPrefix + `service-deployment/other/web/d1"]}`, true},
		{"DescribeServiceDeployments", `{"serviceDeploymentArns":["` + arnPrefix + `service-deployment/lab/web/d1"]}`, false},
		{"DescribeServiceDeployments", `{"serviceDeploymentArns":["` + arnPrefix + `service-deployment/lab/web/d1","` + arnPrefix + `service-deployment/other/web/d1"]}`, true},
		{"ListServicesByNamespace", `{"namespace":"n"}`, false}, // of the key's own clusters
		{"DescribeClusters", `{"clusters":["lab","` + arnPrefix + `cluster/other"]}`, true},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `cluster/other","tags":[{"key":"a"}]}`, true},
		{"TagResource", `{"resourceArn":"` + arnPrefix + `task/0123","tags":[{"key":"a"}]}`, true}, // of no cluster that is known
		{"TagResource", `{"resourceArn":"` + arnPrefix + `cluster/lab","tags":[{"key":"a"}]}`, false},
		{"ListTagsForResource", `{"resourceArn":"` + arnPrefix + `task-definition/f:1"}`, false}, // there is none
		{"ListTaskDefinitions", `{}`, false},
		{"PutAccountSetting", `{"name":"containerInsights","value":"enabled"}`, true},
	} {
		_, err := s.call(t, Operations[c.operation], "lab", c.body)
		if got := errorType(err) == wire.AccessDenied; got != c.denied {
			t.Errorf("%s %s: %v", c.operation, c.body, err)
		}
	}
}

// What a call is authorized for is what it has an effect on: an ARN that the two could read differently is refused.
func TestAnARNMeansOneResource(t *testing.T) {
	s := newLabAndOther(t)
	for _, resource := range []string{"cluster/lab/other", "cluster/other:cluster/lab", "task/other/x:task/lab/y", "container-instance/lab/other/x"} {
		_, err := s.call(t, Operations["TagResource"], "lab", `{"resourceArn":"`+arnPrefix+resource+`","tags":[{"key":"a","value":"b"}]}`)
		if err == nil {
			t.Errorf("%s is tagged", resource)
		}
	}
	if tags := s.state.View().Cluster("other").Tags; len(tags) > 0 {
		t.Errorf("a key for lab has tagged other: %v", tags)
	}
}

// An operation whose line says nothing about clusters is refused to a key that is for one.
func TestAnOperationWithoutAScopeIsRefused(t *testing.T) {
	s := newLabAndOther(t)
	type input struct {
		Revisions []string `json:"serviceRevisionArns"`
	}
	handle := func(context.Context, *Request, *input) (*struct{}, error) { return &struct{}{}, nil }
	for _, forgotten := range []auth.Scope{{}, auth.InCluster()} {
		o := read("DescribeServiceRevisions", forgotten, handle)
		if _, err := s.call(t, o, "lab", `{}`); errorType(err) != wire.AccessDenied {
			t.Errorf("%+v: %v", forgotten, err)
		}
		if _, err := s.call(t, o, "", `{}`); err != nil {
			t.Errorf("%+v: a key for all clusters: %v", forgotten, err)
		}
	}
}

// clusterMembers are the members by which inputs of ECS say which clusters they are about.
var clusterMembers = []string{"cluster", "clusters", "clusterName", "resourceArn", "serviceDeploymentArn", "serviceDeploymentArns", "serviceRevisionArns", "serviceArn",
	"clusterArn", "daemonArn", "daemonDeploymentArns", "daemonRevisionArns"}

// definitionMembers are those by which they name task definitions.
var definitionMembers = []string{"taskDefinition", "taskDefinitions", "taskDefinitionArn", "daemonTaskDefinition", "daemonTaskDefinitionArn"}

// Each line of the table says which clusters it is about, by members that its input has, and leaves none out.
func TestEveryOperationHasAScope(t *testing.T) {
	for name, o := range Operations {
		if !o.Scope.Names() {
			t.Errorf("%s has no scope", name)
		}
		fields := wire.Fields(o.Input)
		clusters, families := o.Scope.Members()
		for _, member := range slices.Concat(clusters, families) {
			if field, there := fields[member]; !there || field.Type.Kind() != reflect.String && field.Type != reflect.TypeFor[[]string]() {
				t.Errorf("%s has no text %s in its input", name, member)
			}
		}
		for member, field := range fields {
			names := slices.Contains(clusterMembers, member) && field.Type != reflect.TypeFor[wire.Unsupported]()
			names = names || strings.HasSuffix(member, "Arn") && strings.HasPrefix(member, "service")
			if names && !slices.Contains(clusters, member) {
				t.Errorf("%s does not look at %s of its input", name, member)
			}
			if slices.Contains(definitionMembers, member) && field.Type != reflect.TypeFor[wire.Unsupported]() && !slices.Contains(families, member) {
				t.Errorf("%s does not look whose %s of its input is", name, member)
			}
		}
	}
}
