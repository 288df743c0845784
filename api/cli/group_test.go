package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

const taskThree = "4c4c0000000000000000000000000003"

// newGroupHost is a door of a group: one task runs, one waits, one is over. Another task is of no business to it.
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
	checkEqual(t, "stderr", got.err, "stopping 2 tasks of the group nightly ...\n4c4c00000000 is PROVISIONING ...\n91bc00000000 is RUNNING ...\n")
	if h.callCount("StopTask") != 2 {
		t.Errorf("%q", h.calls)
	}
}

func TestWhyOfAGroupIsAboutTheFirstThatWaits(t *testing.T) {
	h := newGroupHost(t)
	got := pinion(t, h, "why", "--group", "nightly")
	checkEqual(t, "stdout", got.out, "Task "+taskThree+" is PROVISIONING. It is number 2.\n")
	checkEqual(t, "stderr", got.err, "group nightly: 1 PROVISIONING, 1 RUNNING, 1 STOPPED; explaining the first pending task\n")
	var document struct{ TaskID string }
	if json.Unmarshal([]byte(pinion(t, h, "why", "-o", "json", "--group", "nightly").out), &document) != nil || document.TaskID != taskThree {
		t.Errorf("as JSON: %+v", document)
	}
	h.documents["/v1/queue?cluster=default"] = serveDocument("[]")
	got = pinion(t, h, "why", "--group", "nightly")
	if got.out != "Task "+taskTwo+" is RUNNING. It has a place.\n" || !strings.HasSuffix(got.err, "; none is pending; explaining one of them\n") {
		t.Errorf("when none waits: %+v", got)
	}
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
