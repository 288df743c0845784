package ecs

import (
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

// taskWith wraps members of the task itself around one plain container.
func taskWith(members string) string {
	return `{"family":"f","containerDefinitions":[{"name":"c","image":"i","memory":64}],` + members + `}`
}

func TestDefinitionsAreNumberedFoundAndListed(t *testing.T) {
	b := newFixture(t)
	for range 11 {
		b.must(t, "RegisterTaskDefinition", taskWith(`"tags":[{"key":"k","value":"v"}]`))
	}
	b.must(t, "RegisterTaskDefinition", strings.Replace(taskWith(`"cpu":"256"`), `"f"`, `"ff"`, 1))
	var found struct {
		TaskDefinition struct{ Revision int }
		Tags           []spec.Tag
	}
	for name, revision := range map[string]int{"f": 11, "f:2": 2, "arn:aws:ecs:eu-west-1:123456789012:task-definition/f:3": 3, "arn:aws:ecs:us-east-1:123456789012:task-definition/f": 11} {
		b.must(t, "DescribeTaskDefinition", `{"taskDefinition":"`+name+`"}`).decode(t, &found)
		if found.TaskDefinition.Revision != revision || found.Tags == nil || len(found.Tags) != 0 {
			t.Errorf("%s: %+v", name, found)
		}
	}
	var list struct {
		ARNs  []string `json:"taskDefinitionArns"`
		Token string   `json:"nextToken"`
	}
	var all []string
	for body := `{"familyPrefix":"f","sort":"DESC","maxResults":4}`; body != ""; {
		list.Token = ""
		b.must(t, "ListTaskDefinitions", body).decode(t, &list)
		all = append(all, list.ARNs...)
		if body = ""; list.Token != "" {
			body = `{"familyPrefix":"f","sort":"DESC","maxResults":4,"nextToken":"` + list.Token + `"}`
		}
	}
	if len(all) != 11 || !strings.HasSuffix(all[0], "/f:11") || !strings.HasSuffix(all[1], "/f:10") || !strings.HasSuffix(all[10], "/f:1") {
		t.Errorf("%d: %v", len(all), all)
	}
}

func TestDefinitionsAreListedByFamilyThenRevision(t *testing.T) {
	b := newFixture(t)
	for _, family := range []string{"app-1", "app", "app1", "app"} {
		b.must(t, "RegisterTaskDefinition", strings.Replace(taskWith(`"cpu":"256"`), `"family":"f"`, `"family":"`+family+`"`, 1))
	}
	var list struct {
		ARNs []string `json:"taskDefinitionArns"`
	}
	b.must(t, "ListTaskDefinitions", `{}`).decode(t, &list)
	for i, arn := range list.ARNs {
		list.ARNs[i] = arn[strings.LastIndex(arn, "/")+1:]
	}
	if want := []string{"app:1", "app:2", "app-1:1", "app1:1"}; !slices.Equal(list.ARNs, want) {
		t.Errorf("got %v, want %v", list.ARNs, want)
	}
}

func TestDefinitionsThatAreNotThere(t *testing.T) {
	b := newFixture(t)
	b.must(t, "RegisterTaskDefinition", taskWith(`"cpu":"256"`))
	const client = "ClientException"
	b.call("DescribeTaskDefinition", `{"taskDefinition":"g"}`).wantError(t, client, "Unable to describe task definition.")
	b.call("DescribeTaskDefinition", `{}`).wantError(t, client, "TaskDefinition should not be null or empty.")
	b.call("DeregisterTaskDefinition", `{"taskDefinition":"f"}`).wantError(t, client, "Revision is missing.")
	b.call("DeregisterTaskDefinition", `{"taskDefinition":"f:foo"}`).wantError(t, client, "Invalid revision number. Number: foo")
	b.call("DeregisterTaskDefinition", `{"taskDefinition":"f:2"}`).wantError(t, client, "Unable to describe task definition.")
	b.call("ListTaskDefinitions", `{"maxResults":101}`).wantError(t, "InvalidParameterException", "maxResults must be between 1 and 100, not 101")
	b.call("ListTaskDefinitions", `{"nextToken":"!"}`).wantError(t, "InvalidParameterException", "nextToken is not one that this operation gave out")
	b.call("ListTaskDefinitions", `{"status":"GONE"}`).wantError(t, "InvalidParameterException", `status must be one of ACTIVE, INACTIVE, DELETE_IN_PROGRESS, not "GONE"`)
}
