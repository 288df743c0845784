package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestPsListsWhatIsNotOver(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	checkEqual(t, "pinion ps", pinion(t, h, "ps").out, `
ID            TASK       STATUS   GPUS  HOST   AGE  EXIT/REASON
3f2a00000000  trainer:3  RUNNING  2     gpu-1  3m
`[1:])
	checkEqual(t, "pinion ps -a", pinion(t, h, "ps", "-a").out, `
ID            TASK        STATUS   GPUS  HOST   AGE  EXIT/REASON
3f2a00000000  trainer:3   RUNNING  2     gpu-1  3m
91bc00000000  run-cuda:1  STOPPED  0     gpu-1  2h   137 OutOfMemoryError: Container killed due to memory usage
`[1:])
	checkEqual(t, "pinion ps -o wide", pinion(t, newFakeHost(t).withTasks(strings.Replace(runningTask, `"gpuIds"`,
		`"networkBindings":[{"hostPort":8080,"containerPort":80},{"hostPort":53,"containerPort":53,"protocol":"udp"}],"gpuIds"`, 1)), "ps", "-o", "wide", "--utc").out, `
ID                                TASK       GROUP           KEY   STATUS   GPUS                   HOST   PORTS                     CREATED               STARTED  STOPPED  EXIT/REASON
3f2a0000000000000000000000000001  trainer:3  family:trainer  root  RUNNING  2 GPUs (GPU-1, GPU-2)  gpu-1  8080->80/tcp, 53->53/udp  2025-06-01 11:57:00Z  -        -
`[1:])
}

func TestPsNumbersTheTasksOfArraysAndGangs(t *testing.T) {
	task := func(id, attributes string) string {
		return taskDocument(id+taskOne[4:], `work:1","lastStatus":"PROVISIONING","desiredStatus":"RUNNING","createdAt":1748779020.000,"containers":[],"attributes":[{"name":"pinion.gpus","value":"8"},`+attributes+`]`)
	}
	index := func(n string) string { return `{"name":"pinion.array-index","value":"` + n + `"}` }
	array := newFakeHost(t).withTasks(task("0001", index("10")), task("0002", index("9")), runningTask)
	checkEqual(t, "pinion ps", pinion(t, array, "ps").out, `
ID            TASK        STATUS        GPUS  HOST   AGE  EXIT/REASON
3f2a00000000  trainer:3   RUNNING       2     gpu-1  3m
000200000000  work:1[9]   PROVISIONING  (8)   -      3m
000100000000  work:1[10]  PROVISIONING  (8)   -      3m
`[1:])
	rank := func(n string) string {
		return `{"name":"pinion.gang","value":"g"},{"name":"pinion.rank","value":"` + n + `"}`
	}
	gang := newFakeHost(t).withTasks(task("0001", rank("1")), task("0002", rank("0")))
	checkEqual(t, "pinion ps", pinion(t, gang, "ps").out, `
ID            TASK       STATUS        GPUS  HOST  AGE  EXIT/REASON
000200000000  work:1[0]  PROVISIONING  (8)   -     3m
000100000000  work:1[1]  PROVISIONING  (8)   -     3m
`[1:])
}

func TestPsDoesNotKnowHowTasksOfALostHostAre(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	h.documents["/v1/hosts"] = serveDocument(strings.Replace(hostsDocument, `"connected":true`, `"connected":false`, 1))
	checkEqual(t, "pinion ps -a", pinion(t, h, "ps", "-a").out, `
ID            TASK        STATUS   GPUS  HOST   AGE  EXIT/REASON
3f2a00000000  trainer:3   UNKNOWN  2     gpu-1  3m
91bc00000000  run-cuda:1  STOPPED  0     gpu-1  2h   137 OutOfMemoryError: Container killed due to memory usage
`[1:])
}

func TestPsOfAnEmptyClusterIsAHeaderAndAnEmptyJSONList(t *testing.T) {
	h := newFakeHost(t).withTasks()
	got := pinion(t, h, "ps")
	checkEqual(t, "pinion ps", got.out, "ID  TASK  STATUS  GPUS  HOST  AGE  EXIT/REASON\n")
	if !strings.Contains(got.err, "-a") {
		t.Errorf("what is not shown is not said: %q", got.err)
	}
	checkEqual(t, "pinion ps -o json", pinion(t, h, "ps", "-o", "json").out, "[]\n")
}

func TestInspectShowsTheWholeDocumentOfATaskNamedByItsBeginning(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	for _, name := range []string{"3f", taskOne, arnOf(runningTask)} {
		got := pinion(t, h, "inspect", name)
		var compact, want bytes.Buffer
		if json.Compact(&compact, []byte(got.out)) != nil || json.Compact(&want, []byte("["+runningTask+"]")) != nil {
			t.Fatalf("inspect %s: not JSON: %+v", name, got)
		}
		checkEqual(t, "pinion inspect "+name, compact.String(), want.String())
	}
}

func TestATaskThatIsNotThereIsSaidSo(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, taskDocument("3f99"+taskOne[4:], `x:1","desiredStatus":"RUNNING","containers":[]`))
	for name, says := range map[string]string{
		"77":    `cluster default: no task has the name, the family or the group "77", and no id begins with it`,
		"3f":    `2 task ids begin with "3f" (3f2a00000000, 3f9900000000); give more digits`,
		taskTwo: "cluster default has no task " + taskTwo + " (MISSING); stopped tasks are removed after an hour",
	} {
		if got := pinion(t, h, "inspect", name); got.code != 1 || !strings.Contains(got.err, says) {
			t.Errorf("inspect %s: %+v", name, got)
		}
	}
}

// A word that no task has may be the name of a service.
func TestTheNameOfAServiceIsSaidToBeOne(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask)
	h.operations["ListServices"] = always(`{"serviceArns":["x/web"]}`)
	if got := pinion(t, h, "why", "web"); got.code != 1 || !strings.Contains(got.err, "web is a service: `pinion service events web`") {
		t.Errorf("%+v", got)
	}
}

func TestHostsAndGPUsSayWhatIsFreeAndWhatIsSimulated(t *testing.T) {
	h := newFakeHost(t).withTasks()
	checkEqual(t, "pinion hosts", pinion(t, h, "hosts").out, `
NAME   ID            CLUSTER  ROLE    STATUS  HEALTH  FREE CPU  FREE MEMORY  FREE GPUS  TASKS  VERSION
gpu-1  aaaa00000000  default  leader  ACTIVE  OK      15/16     62/64 GiB    1/3 SIM    1      0.1.0
`[1:])
	got := pinion(t, h, "gpus")
	checkEqual(t, "pinion gpus", got.out, `
HOST   IDX  MODEL               MEMORY    NUMA  HEALTH   TASK ID       TASK       TEAM
gpu-1  0    SIM H100 80GB HBM3  79.6 GiB  0     HEALTHY  3f2a00000000  trainer:3  vision
gpu-1  1    SIM H100 80GB HBM3  79.6 GiB  0     HEALTHY  3f2a00000000  trainer:3  vision
gpu-1  2    SIM GB10            -         -     HEALTHY  -             -          -
`[1:])
	checkEqual(t, "its note", got.err, "SIMULATED: 3 GPUs of 3 here are not real hardware (pinion up --gpus sim:...)\n")
}

func TestASharedGPUHasARowForEachShare(t *testing.T) {
	h := newFakeHost(t).withTasks()
	h.documents["/v1/gpus"] = serveDocument(sharedGPUDocument)
	checkEqual(t, "pinion gpus", pinion(t, h, "gpus").out, `
HOST   IDX  MODEL           MEMORY            NUMA  HEALTH   TASK ID       TASK      TEAM
gpu-1  0    H100 80GB HBM3  10/79.6 GiB       0     HEALTHY  3f2a00000000  server:3  vision
gpu-1  0    H100 80GB HBM3  512 MiB/79.6 GiB  0     HEALTHY  91bc00000000  -         -
`[1:])
}

func TestJSONIsTheDocumentOfTheHost(t *testing.T) {
	h := newFakeHost(t).withTasks()
	h.documents["/v1/gpus"] = serveDocument(`[{"uuid":"GPU-1","fieldOfALaterVersion":1}]`)
	checkEqual(t, "pinion gpus -o json", pinion(t, h, "gpus", "-o", "json").out, `
[
  {
    "uuid": "GPU-1",
    "fieldOfALaterVersion": 1
  }
]
`[1:])
}
