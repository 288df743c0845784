package cli

import (
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
