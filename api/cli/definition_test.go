package cli

import (
	"strings"
	"testing"
)

func TestDefinitionsAreListedShownAndRemoved(t *testing.T) {
	h := newFakeHost(t)
	h.documents["/v1/definitions"] = serveDocument(`{"definitions":[{"family":"run-cuda","revision":7,"revisions":3,"images":["cuda:12"],"gpus":8,"registeredAt":"2025-06-01T10:00:00Z"}],"next":"run-cuda"}`)
	h.documents["/v1/definitions?after=run-cuda"] = serveDocument(`{"definitions":[{"family":"trainer","revision":3,"revisions":1,"clusters":["vision","lab"],"images":["trainer:5","proxy"],"registeredAt":"2025-06-01T09:00:00Z"}]}`)
	checkEqual(t, "families", pinion(t, h, "definition", "ls").out, `
FAMILY    NEWEST  REVISIONS  CLUSTER     GPUS  REGISTERED  IMAGE
run-cuda  7       3          all         8     2h ago      cuda:12
trainer   3       1          lab,vision  0     3h ago      trainer:5, proxy
`[1:])
	checkEqual(t, "names of families", pinion(t, h, "definition", "ls", "-q").out, "run-cuda\ntrainer\n")
	h.documents["/v1/definitions?family=trainer"] = serveDocument(`{"definitions":[{"family":"trainer","revision":3,"images":["trainer:5"],"registeredAt":"2025-06-01T09:00:00Z","registeredBy":"arn:aws:iam::1:user/AKIA1"}]}`)
	checkEqual(t, "names of revisions", pinion(t, h, "definitions", "list", "trainer", "-q").out, "trainer:3\n")
	checkEqual(t, "revisions", pinion(t, h, "definition", "ls", "trainer").out, "DEFINITION  CLUSTER  GPUS  REGISTERED  BY     IMAGE\ntrainer:3   all      0     3h ago      AKIA1  trainer:5\n")
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
