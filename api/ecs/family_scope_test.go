package ecs

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pinion/api/auth"
	"pinion/api/ecs/types"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// newFamilies has a family of the pool ("prod"), of the cluster other ("others"), of lab ("mine") and of both ("ours"), each with a secret in
// its environment, and one of the pool that is shared with lab ("common").
func newFamilies(t testing.TB) *stateStore {
	s := newLabAndOther(t)
	for _, family := range []struct {
		name     string
		clusters spec.ClusterSet
		tags     []spec.Tag
	}{{"prod", "", nil}, {"others", "other", nil}, {"mine", "lab", nil}, {"ours", "lab,other", nil}, {"common", "", []spec.Tag{{Key: spec.TagShare, Value: "x lab"}}}} {
		definition := spec.TaskDefinition{Family: family.name, Tags: family.tags, Containers: []spec.ContainerDefinition{
			{Name: "c", Image: "i", Memory: 64, Environment: []spec.KeyValue{{Name: "PASSWORD", Value: "secret of " + family.name}}}}}
		if _, err := s.Propose(t.Context(), raftfsm.RegisterDefinition{Definition: definition, Clusters: family.clusters}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// definitionCalls are the calls of an operation that name a task definition of this family, by each member and in each form that can name
// one.
func definitionCalls(o Operation, family string) (bodies []string) {
	arn := arnPrefix + "task-definition/" + family + ":1"
	for _, member := range []string{"family", "taskDefinition", "taskDefinitions", "resourceArn"} {
		field, there := wire.Fields(o.Input)[member]
		if !there || member == "family" && o.Name != "RegisterTaskDefinition" { // ListTasks has it as a filter of what its cluster may see
			continue
		}
		for _, name := range []string{family, family + ":1", arn, strings.TrimSuffix(arn, ":1"), strings.Replace(arn, "us-east-1", "eu-west-1", 1)} {
			if member == "resourceArn" && !strings.HasPrefix(name, "arn:") || member == "family" && name != family {
				continue
			}
			value := fmt.Sprintf("%q", name)
			if field.Type == reflect.TypeFor[[]string]() {
				value = fmt.Sprintf(`["%s:1",%q]`, "mine", name)
			}
			bodies = append(bodies, fmt.Sprintf(`{"cluster":"lab",%q:%s,"tags":[{"key":"a","value":"b"}],"tagKeys":["a"],"containerInstances":["x"],
				"containerDefinitions":[{"name":"c","image":"mine","memory":64}]}`, member, value))
		}
	}
	return bodies
}

// A key for a cluster neither sees, runs, revises, ends nor tags what belongs to others, by whatever operation and name.
func TestAKeyForAClusterHasNoPartInFamiliesOfOthers(t *testing.T) {
	tried := 0
	for name, operation := range Operations {
		for _, family := range []string{"prod", "others"} {
			for _, body := range definitionCalls(operation, family) {
				s := newFamilies(t)
				before := s.index
				answer, err := s.call(t, operation, "lab", body)
				if errorType(err) != wire.AccessDenied {
					t.Errorf("%s %s: %v, %v", name, body, answer, err)
				}
				if s.index != before {
					t.Errorf("%s %s has changed the state", name, body)
				}
				tried++
			}
		}
	}
	if tried < 50 {
		t.Errorf("only %d calls name a task definition", tried)
	}
}

// What is shared, or belongs to the key's cluster among others, can be used and not changed. One's own can be both, and so can all by a key for
// all clusters.
func TestAKeyHasItsRightsOnFamilies(t *testing.T) {
	for _, c := range []struct {
		scope, family string
		use, change   bool
	}{
		{"lab", "mine", true, true}, {"lab", "ours", true, false}, {"lab", "common", true, false}, {"lab", "prod", false, false},
		{"lab,other", "ours", true, true}, {"lab,other", "others", true, true}, {"lab,other", "prod", false, false},
		{"default", "common", false, false}, {"", "prod", true, true}, {"", "mine", true, true},
	} {
		for name, operation := range Operations {
			for _, body := range definitionCalls(operation, c.family) {
				if c.scope != "lab" && strings.Contains(body, `["mine:1"`) && c.scope == "default" {
					continue // that names another family too
				}
				s := newFamilies(t)
				_, err := s.call(t, operation, auth.KeyClusters(c.scope), strings.Replace(body, `"cluster":"lab"`, fmt.Sprintf(`"cluster":%q`, firstOf(c.scope)), 1))
				allowed := c.change
				if slices.Contains([]string{"DescribeTaskDefinition", "ListTagsForResource", "RunTask", "StartTask", "CreateService", "UpdateService", "CreateTaskSet"}, name) {
					allowed = c.use
				}
				if denied := errorType(err) == wire.AccessDenied; denied == allowed {
					t.Errorf("a key for %q, %s %s: %v", c.scope, name, body, err)
				}
			}
		}
	}
}

func firstOf(scope string) string {
	first, _, _ := strings.Cut(scope, ",")
	return first
}

func TestListsLeaveOutFamiliesOfOthers(t *testing.T) {
	for scope, want := range map[string][]string{
		"lab": {"common", "mine", "ours"}, "other": {"others", "ours"}, "lab,other": {"common", "mine", "others", "ours"}, "default": {}, "": {"common", "mine", "others", "ours", "prod"},
	} {
		s := newFamilies(t)
		families, err := s.call(t, Operations["ListTaskDefinitionFamilies"], auth.KeyClusters(scope), `{}`)
		if got := families.(*types.ListTaskDefinitionFamiliesOutput).Families; err != nil || !slices.Equal(got, want) {
			t.Errorf("a key for %q: %v, %v", scope, got, err)
		}
		listed, err := s.call(t, Operations["ListTaskDefinitions"], auth.KeyClusters(scope), `{}`)
		if got := listed.(*types.ListTaskDefinitionsOutput).TaskDefinitionARNs; err != nil || len(got) != len(want) {
			t.Errorf("a key for %q: %v, %v", scope, got, err)
		}
	}
}

// A family belongs to the key that is first: two that race for a name do not share it.
func TestAFamilyBelongsToTheClustersOfTheKeyThatMadeIt(t *testing.T) {
	s := newFamilies(t)
	const fresh = `{"family":"fresh","containerDefinitions":[{"name":"c","image":"i","memory":64}]}`
	register := Operations["RegisterTaskDefinition"]
	if _, err := s.call(t, register, "lab", fresh); err != nil {
		t.Fatal(err)
	}
	if owners, known := s.state.View().FamilyClusters("fresh"); owners != "lab" || !known {
		t.Errorf("it belongs to %q", owners)
	}
	_, err := s.Propose(t.Context(), raftfsm.RegisterDefinition{Definition: spec.TaskDefinition{Family: "fresh"}, Clusters: "other"}) // decided on an older view
	if err == nil || s.state.View().Definition("fresh:2") != nil {
		t.Errorf("another cluster's key has revised it: %v", err)
	}
	if _, err := s.call(t, register, "", fresh); err != nil {
		t.Error(err)
	}
	if owners, _ := s.state.View().FamilyClusters("fresh"); owners != "lab" {
		t.Errorf("an administrator's revision has taken it away: %q", owners)
	}
}

func TestCapacityProvidersAreNotTaggedByAKeyForACluster(t *testing.T) {
	s := newFamilies(t)
	for _, name := range []string{"TagResource", "UntagResource"} {
		_, err := s.call(t, Operations[name], "lab", `{"resourceArn":"`+arnPrefix+`capacity-provider/PINION","tags":[{"key":"a"}],"tagKeys":["a"]}`)
		if errorType(err) != wire.AccessDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
}
