package cli

import (
	"net/http"
	"strings"
	"testing"
)

func TestLogsSinceTakesAnAgeOrATime(t *testing.T) {
	for given, asked := range map[string]string{
		"10m":                  "2025-06-01T11%3A50%3A00Z",
		"10m ago":              "2025-06-01T11%3A50%3A00Z",
		"2025-06-01T11:00:00Z": "2025-06-01T11%3A00%3A00Z",
	} {
		h := newFakeHost(t).withTasks(runningTask)
		path := "/v1/tasks/" + taskOne + "/logs?since=" + asked
		h.documents[path] = serveDocument("")
		if got := pinion(t, h, "logs", "--since", given, "3f2a"); got.code != 0 || h.callCount(path) != 1 {
			t.Errorf("--since %s: %+v after %q", given, got, h.calls)
		}
	}
}

func TestTheLogOfATaskThatNeverRanSaysWhy(t *testing.T) {
	h := newFakeHost(t).withTasks(taskDocument(taskTwo, `run-cuda:1","lastStatus":"STOPPED","desiredStatus":"STOPPED","stopCode":"TaskFailedToStart",
		"containers":[{"name":"cuda","reason":"CannotPullContainerError: there is no such image"}]`))
	h.documents["/v1/tasks/"+taskTwo+"/logs"] = serveDocument("")
	got := pinion(t, h, "logs", "91bc")
	if got.code != 0 || got.out != "" || !strings.Contains(got.err, "CannotPullContainerError: there is no such image") {
		t.Errorf("%+v", got)
	}
}

func TestTheTailOfALogIsWrittenAsWithDocker(t *testing.T) {
	h := newFakeHost(t).withTasks(failedTask)
	for tail, query := range map[string]string{"all": "", "7": "?tail=7", "0": "?since=2025-06-01T12%3A00%3A00Z"} {
		h.documents["/v1/tasks/"+taskTwo+"/logs"+query] = func(w http.ResponseWriter) any { logLines(w, "tail "+tail); return nil }
		checkEqual(t, tail, pinion(t, h, "logs", "--tail", tail, "91").out, "tail "+tail+"\n")
	}
	for _, wrong := range []string{"-1", "few", "10001"} {
		if got := pinion(t, h, "logs", "-n", wrong, "91"); got.code != 2 {
			t.Errorf("%s: %+v", wrong, got)
		}
	}
}

func TestWhoAsksForTheLogsOfAServiceIsToldHow(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask)
	h.operations["ListServices"] = always(`{"serviceArns":["x/comp-worker"]}`)
	if got := pinion(t, h, "logs", "comp-worker"); got.code != 1 || !strings.Contains(got.err, "comp-worker is a service: ") || !strings.Contains(got.err, "`pinion service logs comp-worker`") {
		t.Errorf("%+v", got)
	}
}
