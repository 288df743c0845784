package cli

import "testing"

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
