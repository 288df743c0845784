package ecs

import (
	"strings"
	"testing"

	"pinion/raftfsm"
)

func TestTaskDefinitionsAreDeletedOneByOne(t *testing.T) {
	b := ready(t)
	b.must(t, "RegisterTaskDefinition", oneGPU)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu:1"}`)
	b.must(t, "DeregisterTaskDefinition", `{"taskDefinition":"tensorflow-1-gpu:1"}`)
	var answer struct {
		Definitions []struct {
			ARN    string `json:"taskDefinitionArn"`
			Status string
		} `json:"taskDefinitions"`
		Failures []struct{ ARN, Reason string }
	}
	b.must(t, "DeleteTaskDefinitions", `{"taskDefinitions":["`+arnPrefix+`task-definition/tensorflow-1-gpu:1","tensorflow-1-gpu:2","tensorflow-1-gpu","f:9","`+arnPrefix+`task/x"]}`).decode(t, &answer)
	if len(answer.Definitions) != 1 || answer.Definitions[0].Status != "DELETE_IN_PROGRESS" || !strings.HasSuffix(answer.Definitions[0].ARN, "gpu:1") {
		t.Errorf("%+v", answer.Definitions)
	}
	const invalidName = "The specified task definition identifier is invalid. Specify a valid name or ARN and try again."
	want := []struct{ ARN, Reason string }{
		{"tensorflow-1-gpu:2", "The specified task definition is still in ACTIVE status. Please deregister the target and try again."},
		{"tensorflow-1-gpu", invalidName},
		{"f:9", "The specified task definition does not exist. Specify a valid account, family, revision and try again."},
		{arnPrefix + "task/x", invalidName},
	}
	for i, failure := range answer.Failures {
		if failure != want[i] {
			t.Errorf("%+v, want %+v", failure, want[i])
		}
	}
	b.must(t, "DescribeTaskDefinition", `{"taskDefinition":"tensorflow-1-gpu:1"}`).golden(t, "describe-task-definition-deleting")
	b.call("RunTask", `{"taskDefinition":"tensorflow-1-gpu:1"}`).wantError(t, invalid, "TaskDefinition is inactive")
	if list := b.must(t, "ListTaskDefinitions", `{"status":"DELETE_IN_PROGRESS"}`).Body.String(); !strings.Contains(list, "tensorflow-1-gpu:1") {
		t.Errorf("%s", list)
	}
	b.reportExited(t, firstTask, 0)
	b.mustApply(t, raftfsm.Reap{Before: epoch.AddDate(0, 0, 1)})
	b.call("DescribeTaskDefinition", `{"taskDefinition":"tensorflow-1-gpu:1"}`).wantError(t, "ClientException", "Unable to describe task definition.")
}

func TestHowManyTaskDefinitionsAreDeletedAtOnce(t *testing.T) {
	b := newFixture(t)
	b.call("DeleteTaskDefinitions", `{}`).wantError(t, invalid, "taskDefinitions cannot be empty.")
	b.call("DeleteTaskDefinitions", `{"taskDefinitions":["`+strings.Repeat(`a:1","`, 10)+`a:1"]}`).wantError(t, invalid, "taskDefinitions can have at most 10 items, not 11.")
}
