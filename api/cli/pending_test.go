package cli

import (
	"net/http"
	"strings"
	"testing"
)

// newPendingHost answers each change with the task that waits changed, and another one refused.
func newPendingHost(t *testing.T) *fakeHost {
	h := newGroupHost(t)
	for _, operation := range []string{"HoldTasks", "ReleaseTasks", "SetTaskPriority", "RequeueTasks"} {
		h.operations[operation] = always(`{"taskArns":["` + instance[:strings.Index(instance, "container")] + `task/default/` + taskThree + `"],
			"failures":[{"arn":"` + taskTwo + `","reason":"INACTIVE","detail":"it has its place already: it is RUNNING"}]}`)
	}
	return h
}

func TestChangesOfPendingTasksTakeIDsNamesAndGroups(t *testing.T) {
	for line, want := range map[string][]string{
		"task set-priority 80 4c4c 91bc":                     {"SetTaskPriority", `"priority":80`, taskThree, taskTwo},
		"task set-priority --group nightly 0":                {"SetTaskPriority", `"priority":0`, taskThree},
		"task hold 4c4c --reason later":                      {"HoldTasks", `"reason":"later"`, taskThree},
		"task requeue --group nightly --no-wait --reason x":  {"RequeueTasks", `"reason":"x"`, taskTwo},
		"task requeue 91bc --no-wait --reason of-the-driver": {"RequeueTasks", `"reason":"of-the-driver"`, taskTwo},
	} {
		h := newPendingHost(t)
		got := pinion(t, h, strings.Fields(line)...)
		checkEqual(t, line, got.out, taskThree+"\n")
		note := ""
		if want[0] == "RequeueTasks" {
			note = "when it has stopped, another task does the work of 4c4c00000000 again: `pinion why 4c4c00000000` names it\n"
		}
		checkEqual(t, line, got.err, note+"pinion: task 91bc00000000: it has its place already: it is RUNNING\n")
		for _, part := range want[1:] {
			if got.code != 1 || !strings.Contains(h.bodies[want[0]], part) {
				t.Errorf("%s: %d, sent %s", line, got.code, h.bodies[want[0]])
			}
		}
	}
}

func TestRequeueNamesTheTaskThatDoesTheWorkAgain(t *testing.T) {
	h := newRunHost(t, running, taskState("STOPPING", `"containers":[]`), exitedTask(143))
	h.operations["RequeueTasks"] = always(`{"taskArns":["arn:aws:ecs:x:0:task/default/` + taskOne + `"],"failures":[]}`)
	next, reads := "", 0
	h.documents["/v1/tasks/"+taskOne+"/explain?brief=true"] = func(http.ResponseWriter) any {
		if reads++; reads > 2 { // the queue adds it a moment after the end of the first
			next = taskTwo
		}
		return map[string]any{"taskId": taskOne, "status": "STOPPED", "retryAs": next}
	}
	got := pinion(t, h, "task", "requeue", taskOne)
	checkEqual(t, "stdout", got.out, taskOne+"\n")
	if got.code != 0 || !strings.Contains(got.err, taskTwo) {
		t.Errorf("%+v", got)
	}
}

func TestOfAGroupOnlyWhatTheChangeIsForIsChanged(t *testing.T) {
	h := newPendingHost(t)
	pinion(t, h, "task", "hold", "--group", "nightly")
	if body := h.bodies["HoldTasks"]; strings.Contains(body, taskTwo) || !strings.Contains(body, taskThree) {
		t.Errorf("sent %s", body)
	}
	for _, line := range []string{"task hold", "task hold 4c4c --group nightly", "task set-priority high 4c4c", "task set-priority 101 4c4c", "task set-priority 5"} {
		if got := pinion(t, newPendingHost(t), strings.Fields(line)...); got.code != 2 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// A task that is held is not merely pending.
func TestPsShowsWhatIsHeld(t *testing.T) {
	held := taskDocument(taskThree, `work:1","lastStatus":"PROVISIONING","desiredStatus":"RUNNING","containers":[],"attributes":[{"name":"pinion.held-by","value":"anna"}]`)
	h := newFakeHost(t).withTasks(held)
	h.documents["/v1/queue?cluster=default"] = serveDocument("[]")
	if got := pinion(t, h, "ps"); !strings.Contains(got.out, " HELD ") {
		t.Errorf("%+v", got)
	}
}

// Who releases a task that waits for something else must not think that it starts now.
func TestReleaseSaysWhatWasNotHeld(t *testing.T) {
	for attribute, want := range map[string]result{
		`[{"name":"pinion.held-by","value":"anna"}]`: {out: taskThree + "\n"},
		`[]`: {err: "task 4c4c00000000 was not held\n"},
	} {
		h := newFakeHost(t).withTasks(taskDocument(taskThree, `work:1","lastStatus":"PROVISIONING","desiredStatus":"RUNNING","containers":[],"attributes":`+attribute))
		h.operations["ReleaseTasks"] = always(`{"taskArns":["arn:aws:ecs:x:0:task/default/` + taskThree + `"],"failures":[]}`)
		if got := pinion(t, h, "task", "release", "4c4c"); got != want {
			t.Errorf("%s: %+v, want %+v", attribute, got, want)
		}
	}
}
