package ecs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

func (b *fixture) tags(t *testing.T, arn string) []spec.Tag {
	t.Helper()
	var answer struct{ Tags []spec.Tag }
	b.must(t, "ListTagsForResource", `{"resourceArn":"`+arn+`"}`).decode(t, &answer)
	return answer.Tags
}

func TestResourcesAreTaggedByAnyFormOfTheirARN(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	for _, resource := range []string{
		"cluster/default", "task-definition/tensorflow-1-gpu:1",
		"task/default/" + firstTask, "task/" + firstTask, "container-instance/default/" + hostID, "container-instance/" + hostID,
	} {
		arn := arnPrefix + resource
		if got := b.must(t, "TagResource", `{"resourceArn":"`+arn+`","tags":[{"key":"a","value":"1"},{"key":"b","value":""}]}`).Body.String(); got != "{}" {
			t.Errorf("%s: %s", resource, got)
		}
		b.must(t, "TagResource", `{"resourceArn":"`+arn+`","tags":[{"key":"a","value":"2"}]}`)
		if got := b.tags(t, arn); !slices.Equal(got, []spec.Tag{{Key: "a", Value: "2"}, {Key: "b"}}) {
			t.Errorf("%s: %v", resource, got)
		}
		b.must(t, "UntagResource", `{"resourceArn":"`+arn+`","tagKeys":["a","b","none"]}`)
		if got := b.must(t, "ListTagsForResource", `{"resourceArn":"`+arn+`"}`).Body.String(); got != `{"tags":[]}` {
			t.Errorf("%s: %s", resource, got)
		}
	}
}

func TestTagsAreShownWhereTheyAreAskedFor(t *testing.T) {
	b := newFixture(t)
	b.must(t, "TagResource", `{"resourceArn":"`+arnPrefix+`container-instance/default/`+hostID+`","tags":[{"key":"rack","value":"7"}]}`)
	for include, shown := range map[string]bool{`[]`: false, `["TAGS"]`: true} {
		got := b.must(t, "DescribeContainerInstances", `{"containerInstances":["`+hostID+`"],"include":`+include+`}`).Body.String()
		if strings.Contains(got, `"tags":[{"key":"rack","value":"7"}]`) != shown || !shown && !strings.Contains(got, `"tags":[]`) {
			t.Errorf("include %s: %s", include, got)
		}
	}
}

func TestWhatCannotBeTagged(t *testing.T) {
	b := ready(t)
	b.must(t, "CreateCluster", `{"clusterName":"gone"}`)
	b.must(t, "DeleteCluster", `{"cluster":"gone"}`)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	b.reportExited(t, firstTask, 0)
	const missing = "ResourceNotFoundException"
	for resource, want := range map[string][2]string{
		"cluster/nope":                     {"ClusterNotFoundException", "Cluster not found."},
		"cluster/gone":                     {invalid, "The specified cluster is inactive. Specify an active cluster and try again."},
		"task/nope/" + firstTask:           {missing, "The specified task was not found."},
		"task/default/" + firstTask:        {invalid, "The specified task is stopped. Specify a running task and try again."},
		"task/default/x":                   {missing, "The specified task was not found."},
		"task-definition/f:9":              {missing, "The specified task definition was not found."},
		"task-definition/tensorflow-1-gpu": {missing, "The specified task definition was not found."},
		"container-instance/default/x":     {missing, "The specified container instance was not found."},
		"service/default/web":              {missing, "The specified service was not found."},
		"capacity-provider/night":          {missing, "The specified capacity provider was not found."},
		"capacity-provider/PINION":         {"ClientException", "The capacity provider PINION is built in: it can be neither changed nor deleted."},
		"volume/x":                         {invalid, "resourceArn " + arnPrefix + "volume/x is not the ARN of a cluster, a task definition, a task, a container instance, a capacity provider, a service, a task set, a daemon or a daemon task definition."},
	} {
		b.call("TagResource", `{"resourceArn":"`+arnPrefix+resource+`","tags":[{"key":"a","value":"1"}]}`).wantError(t, want[0], want[1])
	}
	b.call("TagResource", `{"resourceArn":"default","tags":[{"key":"a","value":"1"}]}`).wantError(t, invalid, `resourceArn must be the ARN of a resource, not "default"`)
	b.call("ListTagsForResource", `{"resourceArn":"`+arnPrefix+`service/default/web"}`).wantError(t, invalid, "The specified service was not found.")
	b.call("ListTagsForResource", `{"resourceArn":"`+arnPrefix+`task/default/x"}`).wantError(t, invalid, "The specified task was not found.")
}

func TestTagsHaveECSsRules(t *testing.T) {
	b := newFixture(t)
	cluster := `{"resourceArn":"` + arnPrefix + `cluster/default",`
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf(`{"key":"k%d","value":""}`, i))
	}
	b.call("TagResource", cluster+`"tags":[]}`).wantError(t, invalid, "Tags can not be empty.")
	b.must(t, "TagResource", cluster+`"tags":[`+strings.Join(many, ",")+`]}`)
	b.call("TagResource", cluster+`"tags":[{"key":"ärger über","value":"ß @1"}]}`).wantError(t, "LimitExceededException", "A cluster can have 50 tags: remove some first.")
	b.call("UntagResource", cluster+`"tagKeys":[]}`).wantError(t, invalid, "TagKeys can not be empty.")
	b.call("UntagResource", cluster+`"tagKeys":["aws:ecs:clusterName"]}`).wantError(t, invalid, `tag "aws:ecs:clusterName": keys that begin with aws: are reserved`)
}

// What a definition's tags say may become a task's, so it is refused where it is said and not where it is run.
func TestTagsThatTasksCannotHaveAreRefusedOfDefinitionsToo(t *testing.T) {
	b := newFixture(t)
	define := func(tags string) string {
		return `{"family":"f","tags":[` + tags + `],"containerDefinitions":[{"name":"c","image":"i","memory":10}]}`
	}
	b.must(t, "RegisterTaskDefinition", define(`{"key":"pinion.priority","value":"7"}`))
	for tag, message := range map[string]string{
		`{"key":"pinion.lost-after","value":"soon"}`: `the tag pinion.lost-after is "soon": write a span of time of 5s or more, such as "10m" or "1h30m", or "never".`,
		`{"key":"pinion.priority","value":"high"}`:   `the tag pinion.priority is "high": write a whole number from 0 to 100.`,
		`{"key":"pinion.owner","value":"me"}`: "The tag pinion.owner is not known; of those that begin with pinion. there are " +
			strings.Join(spec.ReservedTagKeys(), ", ") + ".",
	} {
		b.call("RegisterTaskDefinition", define(tag)).wantError(t, "ClientException", message)
		b.call("TagResource", `{"resourceArn":"`+arnPrefix+`task-definition/f:1","tags":[`+tag+`]}`).wantError(t, invalid, message)
	}
	b.must(t, "TagResource", `{"resourceArn":"`+arnPrefix+`cluster/default","tags":[{"key":"pinion.owner","value":"me"}]}`)
}

func TestTasksGetTheTagsThatTheCallAsksFor(t *testing.T) {
	b := newFixture(t)
	b.must(t, "RegisterTaskDefinition", `{"family":"f","tags":[{"key":"team","value":"vision"},{"key":"cost","value":"low"}],"containerDefinitions":[{"name":"c","image":"i","memory":10}]}`)
	for fields, want := range map[string]string{
		``: "[]",
		`,"tags":[{"key":"cost","value":"high"}]`:                                              "[{cost high}]",
		`,"propagateTags":"TASK_DEFINITION"`:                                                   "[{team vision} {cost low}]",
		`,"propagateTags":"TASK_DEFINITION","tags":[{"key":"cost","value":"high"}]`:            "[{cost high} {team vision}]",
		`,"enableECSManagedTags":true`:                                                         "[{aws:ecs:clusterName default}]",
		`,"enableECSManagedTags":true,"propagateTags":"NONE","tags":[{"key":"a","value":"b"}]`: "[{a b} {aws:ecs:clusterName default}]",
	} {
		if got := fmt.Sprint(b.run(t, `{"taskDefinition":"f"`+fields+`}`).Tasks[0].Tags); got != want {
			t.Errorf("%s: %s, want %s", fields, got, want)
		}
	}
}
