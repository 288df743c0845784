package cli

import (
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

const queueDocument = `[
	{"place":1,"taskId":"` + taskOne + `","tasks":1,"cluster":"default","group":"family:train","team":"vision","priority":7,"cpu":4096,"memoryMiB":2048,"gpus":2,"since":"2025-06-01T11:57:00Z","waitsFor":"room on a host"},
	{"place":0,"taskId":"` + taskTwo + `","tasks":8,"cluster":"default","group":"gang","priority":0,"cpu":1024,"memoryMiB":1024,"gpus":1,"since":"2025-06-01T10:00:00Z","waitsFor":"group:prepare to end (pinion.after)"}]`

const whyDocument = `{"taskId":"` + taskOne + `","status":"PROVISIONING","summary":"It is number 1 of 2 in the queue of cluster default and waits for task ` + taskTwo + ` to end.",
	"queue":{"place":1,"taskId":"` + taskOne + `"},"waiting":2,"hosts":[{"hostId":"` + hostOne + `","reason":"RESOURCE:GPU","detail":"needs 2 GPUs, 1 free"}],
	"holders":[{"taskId":"` + taskTwo + `","hostId":"` + hostOne + `","group":"family:run-cuda","gpus":2,"until":"2025-06-01T13:00:00Z"}],
	"earliest":"2025-06-01T13:00:00Z","estimate":"by the time limits of the tasks that have what it needs"}`

func TestTheQueueIsListedInItsOrder(t *testing.T) {
	h := newFakeHost(t).withTasks()
	h.documents["/v1/queue?cluster=default"] = serveDocument(queueDocument)
	checkEqual(t, "queue", pinion(t, h, "queue").out, `
POS  ID            TASK   TEAM    PRIORITY  GPUS  CPU  MEMORY   AGE  WAITING FOR
1    3f2a00000000  train  vision  7         2     4    2 GiB    3m   room on a host
-    91bc00000000  gang   -       0         8x1   8x1  8x1 GiB  2h   group:prepare to end (--after)
`[1:])
}

func TestWhatNoHostCouldEverRunHasNoPlace(t *testing.T) {
	h := newFakeHost(t).withTasks()
	h.documents["/v1/queue?cluster=default"] = serveDocument(`[
		{"place":1,"taskId":"` + taskOne + `","tasks":1,"group":"family:train","definition":"run-train:3","index":"4","priority":7,"cpu":1024,"memoryMiB":1024,"gpus":9,"since":"2025-06-01T11:57:00Z",
		 "waitsFor":"another host: none could ever run it","impossible":` + gpuShortageDocument + `},
		{"place":2,"taskId":"` + taskTwo + `","tasks":1,"group":"gang","cpu":1024,"memoryMiB":1024,"gpus":1,"since":"2025-06-01T10:00:00Z","waitsFor":"room on a host"}]`)
	checkEqual(t, "queue", pinion(t, h, "queue").out, `
POS  ID            TASK            TEAM  PRIORITY  GPUS  CPU  MEMORY  AGE  WAITING FOR
-    3f2a00000000  run-train:3[4]  -     7         9     1    1 GiB   3m   another host: none could ever run it
2    91bc00000000  gang            -     0         1     1    1 GiB   2h   room on a host
`[1:])
	if got := pinion(t, h, "queue", "-o", "json"); !strings.Contains(got.out, `"place": 1`) {
		t.Errorf("JSON stays as the host says: %s", got.out)
	}
}

func TestTimesInWhatTasksWaitForAreThoseOfTheUser(t *testing.T) {
	h := newFakeHost(t).withTasks()
	h.documents["/v1/queue?cluster=default"] = serveDocument(`[{"taskId":"` + taskOne + `","tasks":1,"group":"g","waitsFor":"its release (held by root since 2025-06-01T10:00:00Z)"}]`)
	if got := pinion(t, h, "queue", "--utc"); !strings.Contains(got.out, "(held by root since 2025-06-01 10:00:00Z)") {
		t.Errorf("%+v", got)
	}
}

func TestAnEmptyQueueIsAHeaderAndAnEmptyJSONList(t *testing.T) {
	h := newFakeHost(t).withTasks()
	h.documents["/v1/queue?cluster=default"] = serveDocument("[]")
	checkEqual(t, "queue", pinion(t, h, "queue").out, "POS  ID  TASK  TEAM  PRIORITY  GPUS  CPU  MEMORY  AGE  WAITING FOR\n")
	checkEqual(t, "queue -o json", pinion(t, h, "queue", "-o", "json").out, "[]\n")
}

func TestWhyTellsWhatATaskWaitsFor(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	h.documents["/v1/tasks/"+taskOne+"/explain"] = serveDocument(whyDocument)
	checkEqual(t, "why", pinion(t, h, "why", "--utc", "3f").out, `
Task 3f2a0000000000000000000000000001 is PROVISIONING. It is number 1 of 2 in the queue of cluster default and waits for task 91bc0000000000000000000000000002 to end.
Earliest start: 2025-06-01 13:00:00Z, by the time limits of the tasks that have what it needs

HOST   REASON        DETAIL
gpu-1  RESOURCE:GPU  needs 2 GPUs, 1 free

IN USE BY     GROUP            TEAM  HOST   GPUS  UNTIL
91bc00000000  family:run-cuda  -     gpu-1  2     2025-06-01 13:00:00Z
`[1:])
	if got := pinion(t, h, "why"); got.code != exit.Usage {
		t.Errorf("without a task: %+v", got)
	}
}
