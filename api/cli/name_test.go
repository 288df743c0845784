package cli

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func namedTask(id, definition, status string, minute int) string {
	desired := "RUNNING"
	if status == "STOPPED" {
		desired = status
	}
	created := testTime.Add(time.Duration(minute) * time.Minute).Format(time.RFC3339)
	return taskDocument(id+taskOne[8:], definition+`","group":"nightly-`+definition[:1]+`","lastStatus":"`+status+`","desiredStatus":"`+desired+`","createdAt":"`+created+`","containers":[{"name":"c","exitCode":0}]`)
}

func TestANameStandsForATask(t *testing.T) {
	h := newFakeHost(t).withTasks(
		namedTask("11110000", "run-train:1", "STOPPED", -9), namedTask("22220000", "run-train:2", "RUNNING", -5),
		namedTask("33330000", "eval:1", "STOPPED", -9), namedTask("44440000", "eval:2", "STOPPED", -3),
		namedTask("55550000", "serve:1", "RUNNING", -9), namedTask("66660000", "serve:1", "RUNNING", -3))
	for name, id := range map[string]string{
		"train": "22220000", "run-train": "22220000", // of --name, of the family: the one that runs
		"eval": "44440000", "nightly-e": "44440000", // none runs: the newest
		"nightly-r": "22220000", "1111": "11110000",
	} {
		got := pinion(t, h, "inspect", name)
		if !strings.Contains(got.out, id+taskOne[8:]) || strings.Count(got.out, "taskArn") != 1 || got.code != 0 {
			t.Errorf("%s is not %s: %+v", name, id, got)
		}
		if name == "eval" != strings.Contains(got.err, "the newest of 2 tasks") && name != "nightly-e" {
			t.Errorf("%s: %q", name, got.err)
		}
	}
	got := pinion(t, h, "stop", "serve")
	if got.code != 1 || !strings.Contains(got.err, "666600000000 (RUNNING, 3m), 555500000000 (RUNNING, 9m)") || !strings.Contains(got.err, "--group nightly-s ") || h.callCount("StopTask") != 0 {
		t.Errorf("two have the name: %+v", got)
	}
}

// The column TASK of `pinion ps` is a name, too. What has a slash is the name of an image, unless it is an ARN.
func TestWhatPsShowsIsATask(t *testing.T) {
	indexed := func(id, index string) string {
		return strings.Replace(namedTask(id, "run-arr:2", "RUNNING", -5), `"containers"`, `"attributes":[{"name":"pinion.array-index","value":"`+index+`"}],"containers"`, 1)
	}
	h := newFakeHost(t).withTasks(namedTask("11110000", "run-http2:1", "RUNNING", -9), namedTask("22220000", "run-http2:2", "RUNNING", -5), indexed("33330000", "3"), indexed("44440000", "4"))
	for name, id := range map[string]string{
		"run-http2:1": "11110000", "http2:2": "22220000", "arr[3]": "33330000", "run-arr:2[4]": "44440000", "run-arr[4]": "44440000",
		arnOf(namedTask("11110000", "run-http2:1", "RUNNING", -9)): "11110000",
	} {
		if got := pinion(t, h, "inspect", name); strings.Count(got.out, "taskArn") != 1 || !strings.Contains(got.out, id+taskOne[8:]) {
			t.Errorf("%s is not %s: %+v", name, id, got)
		}
	}
	for _, name := range []string{"foo/http2", "127.0.0.1:7511/http2", "http2:3", "arr[5]", "run-arr:1[4]"} {
		if got := pinion(t, h, "stop", name); got.code != 1 || h.callCount("StopTask") != 0 || !strings.Contains(got.err, "no task has the name") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTheLogsOfSeveralTasksAreToldApart(t *testing.T) {
	h := newFakeHost(t).withTasks(namedTask("11110000", "run-train:1", "STOPPED", -9), namedTask("22220000", "eval:2", "RUNNING", -5))
	for id, text := range map[string]string{"11110000": "one", "22220000": "two"} {
		h.documents["/v1/tasks/"+id+taskOne[8:]+"/logs"] = func(w http.ResponseWriter) any { logLines(w, text); return nil }
	}
	got := pinion(t, h, "logs", "train", "eval")
	checkEqual(t, "logs", got.out+got.err, "111100000000 one\n222200000000 two\n")
	checkEqual(t, "one of them", pinion(t, h, "logs", "train").out, "one\n")
}

func TestQuietListsHoldIdsAlone(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask, failedTask)
	h.documents["/v1/queue?cluster=default"] = serveDocument(`[{"taskId":"` + taskThree + `"}]`)
	for line, want := range map[string]string{"ps -q": taskOne + "\n", "ps -aq": taskOne + "\n" + taskTwo + "\n", "queue -q": taskThree + "\n", "hosts -q": hostOne + "\n"} {
		checkEqual(t, line, pinion(t, h, strings.Fields(line)...).out, want)
	}
}

// A list that is watched is shown until Ctrl-C, also over a moment in which no host answers.
func TestAListIsWatchedUntilCtrlC(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask)
	var p Program
	polls := 0
	p.system.Sleep = func(context.Context, time.Duration) error {
		if polls++; polls == 3 {
			return context.Canceled
		}
		return nil
	}
	got := pinionWith(t, p, h, "ps", "--watch", "-q")
	checkEqual(t, "three looks", got.out, strings.Repeat(taskOne+"\n", 3))
	if got.code != 0 {
		t.Errorf("%+v", got)
	}
}
