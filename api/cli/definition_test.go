package cli

import (
	"strings"
	"testing"
)

func TestDefinitionsAreListedShownAndRemoved(t *testing.T) {
	h := newFakeHost(t)
	h.operations["ListTaskDefinitionFamilies"] = func(in map[string]any) any {
		if in["nextToken"] == nil {
			return `{"families":["run-cuda"],"nextToken":"more"}`
		}
		return `{"families":["trainer"]}`
	}
	checkEqual(t, "families", pinion(t, h, "definition", "ls").out, "run-cuda\ntrainer\n")
	h.operations["ListTaskDefinitions"] = always(`{"taskDefinitionArns":["arn:aws:ecs:us-east-1:123456789012:task-definition/trainer:3"]}`)
	checkEqual(t, "revisions", pinion(t, h, "definitions", "list", "trainer", "-o", "json").out, "[\n  \"trainer:3\"\n]\n")
	h.operations["DescribeTaskDefinition"] = always(`{"taskDefinition":{"family":"trainer"}}`)
	checkEqual(t, "show", pinion(t, h, "definition", "show", "trainer").out, "{\n  \"family\": \"trainer\"\n}\n")
	h.operations["DeregisterTaskDefinition"] = always(`{}`)
	h.operations["DeleteTaskDefinitions"] = always(`{"failures":[]}`)
	checkEqual(t, "rm", pinion(t, h, "definition", "rm", "trainer:3").out, "trainer:3\n")
	checkEqual(t, "deleted", h.bodies["DeleteTaskDefinitions"], `{"taskDefinitions":["trainer:3"]}`)
	if got := pinion(t, h, "definition", "rm", "trainer"); got.code != 2 || !strings.Contains(got.err, "trainer:1") {
		t.Errorf("a family: %+v", got)
	}
}

// The short commands and the verbs of nouns are one implementation.
func TestANounAndAVerbAreTheShortCommand(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	h.documents["/v1/admin/keys"] = serveDocument("[]")
	for short, long := range map[string]string{
		"ps -a": "task ls -a", "ps": "tasks list", "hosts": "host ls", "hosts -o wide": "hosts list -o wide", "gpus": "gpu ls", "keys ls": "key list", "inspect 3f": "task inspect 3f",
	} {
		got, want := pinion(t, h, strings.Fields(long)...), pinion(t, h, strings.Fields(short)...)
		if got != want || got.code != 0 {
			t.Errorf("pinion %s: %+v\npinion %s: %+v", long, got, short, want)
		}
	}
}
