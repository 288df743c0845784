package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// runTask is the RunTask that was sent, without what differs each time or is always the same.
func (h *fakeHost) runTask(t *testing.T) string {
	t.Helper()
	var in map[string]any
	if err := json.Unmarshal([]byte(h.bodies["RunTask"]), &in); err != nil {
		t.Fatal(err)
	}
	if in["enableExecuteCommand"] != true {
		t.Error("nobody may run commands in the tasks")
	}
	for _, name := range []string{"cluster", "taskDefinition", "clientToken", "startedBy", "enableExecuteCommand"} {
		delete(in, name)
	}
	text, _ := json.Marshal(in)
	return string(text)
}

func TestRunSaysHowTasksWaitAndWhatIsDoneWhenTheyEnd(t *testing.T) {
	const queue = `"capacityProviderStrategy":[{"capacityProvider":"PINION","weight":1}]`
	tagged := func(tags string) string { return `{` + queue + `,"count":1,"tags":[` + tags + `]}` }
	cases := map[string]string{
		``:                              `{` + queue + `,"count":1}`,
		`--no-wait`:                     `{"count":1,"launchType":"EC2"}`,
		`--count 1000 --group nightly`:  `{` + queue + `,"count":1000,"group":"nightly"}`,
		`--array 5-104`:                 `{"array":"5-104",` + queue + `}`,
		`--gang --count 2`:              `{` + queue + `,"count":2,"tags":[{"key":"pinion.gang","value":"true"}]}`,
		`--priority 100 --team vision`:  tagged(`{"key":"pinion.priority","value":"100"},{"key":"pinion.team","value":"vision"}`),
		`--retries 3 --retry-on 137`:    tagged(`{"key":"pinion.retries","value":"3"},{"key":"pinion.retry-on","value":"137"}`),
		`--time-limit 2h --preemptible`: tagged(`{"key":"pinion.time-limit","value":"2h"},{"key":"pinion.preemptible","value":"true"}`),
		`--after 3f2a --after any:91bc`: tagged(`{"key":"pinion.after","value":"` + taskOne + ` any:` + taskTwo + `"}`),
		`--after group:nightly`:         tagged(`{"key":"pinion.after","value":"group:nightly"}`),
		`--after any:group:nightly`:     tagged(`{"key":"pinion.after","value":"any:group:nightly"}`),
	}
	for flags, want := range cases {
		t.Run(flags, func(t *testing.T) {
			h := newRunHost(t, pending).withTasks(runningTask, failedTask)
			got := pinion(t, h, append(append([]string{"run", "-d"}, strings.Fields(flags)...), "nvidia/cuda")...)
			if got.code != 0 {
				t.Fatalf("%+v", got)
			}
			checkEqual(t, "RunTask", h.runTask(t), want)
		})
	}
}

func TestRunRefusesWhatIsOutOfRange(t *testing.T) {
	for flags, says := range map[string]string{
		`--count 0`:                "--count 0: must be from 1 to 1000",
		`--count 1001`:             "--count 1001: must be from 1 to 1000",
		`--array 7`:                `--array "7": write the first and the last index, such as 0-99`,
		`--array 9-3`:              "--array 9-3 is an empty range",
		`--array 0-1000`:           "--array 0-1000: 1001 tasks; 1 to 1000 can be started at once",
		`--array 0-9 --count 10`:   "--count and --array exclude each other",
		`--array 0-9 --no-wait`:    "--array and --no-wait exclude each other",
		`--after 3f2a --no-wait`:   "--after and --no-wait exclude each other",
		`--priority 101`:           "--priority 101: write a whole number from 0 to 100",
		`--priority high`:          "--priority high: write a whole number from 0 to 100",
		`--retries -1`:             "--retries -1: write a whole number from 0 to 100",
		`--retry-on 3`:             "--retry-on needs --retries N",
		`--retries 1 --retry-on x`: `--retry-on x: write exit codes from 0 to 255 with spaces between, such as "1 137"`,
		`--time-limit soon`:        `--time-limit soon: write a span of time from 1s to 87600h, such as "30m" or "12h"`,
		`--time-limit 9999999h`:    `--time-limit 9999999h: write a span of time from 1s to 87600h, such as "30m" or "12h"`,
		`--after group:`:           `--after group:: write task ids with spaces between, or "group:NAME", each after "any:" when it may fail`,
		`--lost-after 1ms`:         `--lost-after 1ms: the tag pinion.lost-after is "1ms": write a span of time of 5s or more, such as "10m" or "1h30m", or "never"`,
	} {
		t.Run(flags, func(t *testing.T) {
			got := pinion(t, newRunHost(t, pending), append(append([]string{"run"}, strings.Fields(flags)...), "nvidia/cuda")...)
			if got.code != exit.Usage || !strings.Contains(got.err, says) {
				t.Errorf("exit code %d: %s", got.code, got.err)
			}
		})
	}
}

func TestATaskThatWaitsSaysSoAndThenWhereItIs(t *testing.T) {
	waits := taskDocument(taskOne, `run-cuda:4","lastStatus":"PROVISIONING","containers":[{"name":"cuda"}]`)
	h := newRunHost(t, waits, waits, waits, waits, waits, pending, running, exitedTask(0))
	h.documents["/v1/tasks/"+taskOne+"/explain?brief=true"] = serveDocument(`{"status":"PROVISIONING","queue":{"place":1,"waitsFor":"room on a host"}}`)
	got := pinion(t, h, "run", "nvidia/cuda:12.4")
	want := "task 3f2a00000000 is pending and waits for room on a host; `pinion why 3f2a00000000` explains why\ntask 3f2a00000000 on gpu-1 with 2 GPUs (GPU-1, GPU-2)\n"
	if got.code != 0 || !strings.HasPrefix(got.err, want) {
		t.Errorf("%+v", got)
	}
	checkEqual(t, "stdout", got.out, "epoch 1\nepoch 2\n")
}

func TestATaskThatIsStoppedWhileItWaitsSaysWhy(t *testing.T) {
	waits := taskDocument(taskOne, `run-cuda:4","lastStatus":"PROVISIONING","containers":[{"name":"cuda"}]`)
	over := taskDocument(taskOne, `run-cuda:4","lastStatus":"STOPPED","stopCode":"ServiceSchedulerInitiated","stoppedReason":"It waited for group:a","containers":[{"name":"cuda"}]`)
	got := pinion(t, newRunHost(t, waits, waits, over), "run", "nvidia/cuda:12.4")
	if got.code != exit.NotStarted || !strings.HasSuffix(got.err, "pinion: task 3f2a00000000 did not start: It waited for group:a\n") {
		t.Errorf("%+v", got)
	}
}

// newBatchHost is a host where RunTask starts tasks that go through documents, each through its own.
func newBatchHost(t *testing.T, documents ...[]string) *fakeHost {
	h := newFakeHost(t).withTasks()
	h.operations["RegisterTaskDefinition"] = always(`{"taskDefinition":{"family":"run-cuda","revision":4}}`)
	var first []string
	for _, states := range documents {
		first = append(first, states[0])
	}
	h.operations["RunTask"] = always(`{"tasks":[` + strings.Join(first, ",") + `],"failures":[]}`)
	polls := 0
	h.operations["DescribeTasks"] = func(in map[string]any) any {
		var current []string
		for _, states := range documents {
			current = append(current, states[min(polls, len(states)-1)])
		}
		polls++
		return describeFrom(current, in)
	}
	return h
}

// batchTask is a task of a run of several as it is described.
func batchTask(id, status, rest string) string {
	return taskDocument(id, `run-cuda:4","containerInstanceArn":"`+instance+`","lastStatus":"`+status+`"`+rest)
}

func stoppedTask(id string, code int, stop string) string {
	return batchTask(id, "STOPPED", fmt.Sprintf(`,"stopCode":%q,"stoppedReason":"R","containers":[{"name":"cuda","exitCode":%d}]`, stop, code))
}

func TestSeveralTasksAreFollowedToTheirEnds(t *testing.T) {
	one, two := batchTask(taskOne, "RUNNING", ""), batchTask(taskTwo, "RUNNING", "")
	cases := map[string]struct {
		first, second string
		code          int
		says          string
	}{
		"all succeed": {stoppedTask(taskOne, 0, "EssentialContainerExited"), stoppedTask(taskTwo, 0, "EssentialContainerExited"), 0, "2 STOPPED\n"},
		"one fails, and the other ends with it": {stoppedTask(taskOne, 143, "ServiceSchedulerInitiated"), stoppedTask(taskTwo, 9, "EssentialContainerExited"), 9,
			"task 91bc00000000: exit code 9\ntask 3f2a00000000: R\npinion: 2 of 2 tasks failed\n"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newBatchHost(t, []string{one, one, c.first}, []string{two, two, c.second})
			got := pinion(t, h, "run", "--gang", "--count", "2", "nvidia/cuda")
			if got.code != c.code || !strings.HasPrefix(got.err, "2 tasks: 3f2a00000000 91bc00000000;") || !strings.HasSuffix(got.err, c.says) || !strings.Contains(got.err, "\n2 RUNNING\n") {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestSeveralTasksDetachedPrintTheirIDs(t *testing.T) {
	h := newBatchHost(t, []string{batchTask(taskOne, "PENDING", "")}, []string{batchTask(taskTwo, "PENDING", "")})
	got := pinion(t, h, "run", "-d", "--count", "2", "nvidia/cuda")
	checkEqual(t, "stdout", got.out, taskOne+"\n"+taskTwo+"\n")
}

func TestRunFollowsATaskThatIsRunAgain(t *testing.T) {
	for flags, first := range map[string]string{"--retries 2": exitedTask(1), "--preemptible": stoppedTask(taskOne, 143, "SpotInterruption")} {
		t.Run(flags, func(t *testing.T) { testRunAgain(t, flags, first) })
	}
}

func testRunAgain(t *testing.T, flags, first string) {
	h := newRunHost(t, pending)
	again := batchTask(taskTwo, "STOPPED", `,"stopCode":"EssentialContainerExited","attributes":[{"name":"pinion.retry-of","value":"`+taskOne+`"},{"name":"pinion.attempt","value":"1"}],"containers":[{"name":"cuda","exitCode":0}]`)
	var startedBy any
	h.operations["ListTasks"] = func(in map[string]any) any {
		startedBy = in["startedBy"]
		return `{"taskArns":["` + taskOne + `","` + taskTwo + `"]}`
	}
	h.operations["DescribeTasks"] = func(in map[string]any) any { return describeFrom([]string{first, again}, in) }
	h.documents["/v1/tasks/"+taskTwo+"/logs?follow=1"] = serveDocument("")
	got := pinion(t, h, append(append([]string{"run"}, strings.Fields(flags)...), "nvidia/cuda")...)
	if got.code != 0 || !strings.Contains(got.err, ". It is retried as 91bc00000000\n") {
		t.Errorf("%+v", got)
	}
	if started, _ := startedBy.(string); !strings.HasPrefix(started, "pinion-run-") {
		t.Errorf("the attempts were looked for among those started by %v", startedBy)
	}
}
