package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const taskThree = "4c4c0000000000000000000000000003"

// newGroupHost is a host with a group: one task runs, one waits, one is over. Another task is of no business to it.
func newGroupHost(t *testing.T) *fakeHost {
	task := func(id, status, desired, index string) string {
		host := instance
		if status == "PROVISIONING" {
			host = ""
		}
		return taskDocument(id, `work:1","containerInstanceArn":"`+host+`","group":"nightly","lastStatus":"`+status+`","desiredStatus":"`+desired+`","containers":[],"attributes":[{"name":"pinion.array-index","value":"`+index+`"}]`)
	}
	h := newFakeHost(t).withTasks(runningTask, task(taskThree, "PROVISIONING", "RUNNING", "1"), task(taskTwo, "RUNNING", "RUNNING", "0"),
		task("5d5d0000000000000000000000000004", "STOPPED", "STOPPED", "2"))
	h.operations["StopTask"] = always("{}")
	h.documents["/v1/queue?cluster=default"] = serveDocument("[" + `{"place":1,"taskId":"` + taskOne + `","group":"family:train"},{"place":2,"taskId":"` + taskThree + `","group":"nightly"}]`)
	h.documents["/v1/tasks/"+taskThree+"/explain"] = serveDocument(`{"taskId":"` + taskThree + `","status":"PROVISIONING","summary":"It is number 2."}`)
	h.documents["/v1/tasks/"+taskTwo+"/explain"] = serveDocument(`{"taskId":"` + taskTwo + `","status":"RUNNING","summary":"It has a place."}`)
	return h
}

// What waits is stopped first, or it would get the places of the others.
func TestStopOfAGroupStopsWhatIsNotOver(t *testing.T) {
	h := newGroupHost(t)
	got := pinion(t, h, "stop", "--no-wait", "--group", "nightly")
	checkEqual(t, "stdout", got.out, taskThree+"\n"+taskTwo+"\n")
	checkEqual(t, "stderr", got.err, "stopping 2 tasks of the group nightly ...\n")
	if h.callCount("StopTask") != 2 {
		t.Errorf("%q", h.calls)
	}
}

// The names of groups, arrays and gangs stand for all of their tasks.
func TestANameOfAGroupStandsForAllItsTasks(t *testing.T) {
	for name, index := range map[string]string{"nightly": "array-index", "work": "array-index", "gang": "rank"} {
		member := func(id, status, number string) string {
			desired := status
			if status != "STOPPED" {
				desired = "RUNNING"
			}
			return taskDocument(id, `run-work:1","group":"nightly","lastStatus":"`+status+`","desiredStatus":"`+desired+`","containers":[],"attributes":[{"name":"pinion.`+index+`","value":"`+number+`"}]`)
		}
		if name == "gang" {
			name = "work"
		}
		h := newFakeHost(t).withTasks(runningTask, member(taskThree, "RUNNING", "1"), member(taskTwo, "RUNNING", "0"), member("5d5d0000000000000000000000000004", "STOPPED", "2"))
		h.operations["StopTask"] = always("{}")
		for i, id := range []string{taskTwo, taskThree, "5d5d0000000000000000000000000004"} {
			h.documents["/v1/tasks/"+id+"/logs"] = func(w http.ResponseWriter) any { logLines(w, fmt.Sprint("line ", i)); return nil }
		}
		const all = "run-work:1[0] line 0\nrun-work:1[1] line 1\nrun-work:1[2] line 2\n"
		checkEqual(t, "logs "+name, pinion(t, h, "logs", name).out, all)
		checkEqual(t, "logs --group", pinion(t, h, "logs", "--group", "nightly").out, all)
		checkEqual(t, "stop "+name, pinion(t, h, "stop", "--no-wait", name).out, taskTwo+"\n"+taskThree+"\n")
		if h.callCount("StopTask") != 2 {
			t.Errorf("%s: %q", name, h.calls)
		}
	}
}

// What failed comes first, equal failures once; then what the first pending member waits for.
func TestWhyOfAGroupBeginsWithItsFailures(t *testing.T) {
	failed := func(id, index string, code int) string {
		return taskDocument(id, fmt.Sprintf(`work:1","group":"nightly","lastStatus":"STOPPED","desiredStatus":"STOPPED","stopCode":"EssentialContainerExited","stoppedReason":"Essential container in task exited",
			"containers":[{"name":"work","exitCode":%d}],"attributes":[{"name":"pinion.array-index","value":%q}]`, code, index))
	}
	const one, two, good = "5d5d0000000000000000000000000004", "6e6e0000000000000000000000000005", "7f7f0000000000000000000000000006"
	waits := func(id, index string) string {
		return taskDocument(id, `work:1","group":"nightly","lastStatus":"PROVISIONING","desiredStatus":"RUNNING","containers":[],"attributes":[{"name":"pinion.array-index","value":"`+index+`"}]`)
	}
	const next = "8a8a0000000000000000000000000007"
	h := newGroupHost(t).withTasks(failed(good, "0", 0), failed(one, "1", 3), failed(two, "2", 3), waits(taskThree, "3"), waits(next, "4"))
	h.documents["/v1/queue?cluster=default"] = serveDocument(`[{"taskId":"` + taskOne + `"},{"taskId":"` + taskThree + `","waitsFor":"room on a host"},{"taskId":"` + next + `","waitsFor":"room on a host"}]`)
	h.documents["/v1/tasks/"+one+"/explain"] = serveDocument(`{"taskId":"` + one + `","status":"STOPPED","summary":"It has stopped."}`)
	h.documents["/v1/tasks/"+one+"/logs?container=work&tail=10"] = func(w http.ResponseWriter) any { logLines(w, "no such file: data.csv"); return nil }
	for line, begins := range map[string]string{"why --group nightly": "Group nightly", "why nightly": "nightly (5 tasks)", "why work": "work (5 tasks)"} {
		checkEqual(t, line, pinion(t, h, strings.Fields(line)...).out, begins+`: 2 failed, 1 succeeded, 2 PROVISIONING.

2 tasks ended alike: 1, 2. This is the first of them:
Task `+one+` (work:1) failed: container work exited with code 3.

Last lines of container work (pinion logs 5d5d00000000):
   no such file: data.csv

2 tasks wait for room on a host: 3, 4.
Task `+taskThree+` is PROVISIONING. It is number 2.
`)
	}
	var document struct{ TaskID string }
	if json.Unmarshal([]byte(pinion(t, h, "why", "-o", "json", "--group", "nightly").out), &document) != nil || document.TaskID != one {
		t.Errorf("as JSON: %+v", document)
	}
	h.withTasks(failed(good, "0", 0))
	h.documents["/v1/queue?cluster=default"] = serveDocument("[]")
	h.documents["/v1/tasks/"+good+"/explain"] = serveDocument(`{"taskId":"` + good + `","status":"STOPPED","summary":"It has stopped."}`)
	checkEqual(t, "all went well", pinion(t, h, "why", "--group", "nightly").out, "Group nightly: 1 succeeded.\n\nTask "+good+" (work:1) succeeded.\n")
}

func TestAGroupThatIsNotThereIsSaidSo(t *testing.T) {
	for _, line := range []string{"stop --group nighty", "why --group nighty"} {
		got := pinion(t, newGroupHost(t), strings.Fields(line)...)
		checkEqual(t, line, got.err, `pinion: cluster default has no task of the group "nighty"; `+"`pinion ps -a -o wide` shows the groups\n")
	}
	over := newFakeHost(t).withTasks(failedTask[:len(failedTask)-1] + `,"group":"old"}`)
	got := pinion(t, over, "stop", "--group", "old")
	checkEqual(t, "a group that is over", got.err, `pinion: all tasks of the group "old" in cluster default have stopped already`+"\n")
}
