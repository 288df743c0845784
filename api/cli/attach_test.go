package cli

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

const attachedLog = "/v1/tasks/" + taskOne + "/logs?container=cuda&follow=1&since=2025-06-01T12%3A00%3A00Z"

func TestAttachShowsWhatComesAndEndsAsTheContainerDoes(t *testing.T) {
	for _, code := range []int{0, 3} {
		h := newRunHost(t, running, running, running, exitedTask(code))
		h.documents[attachedLog] = func(w http.ResponseWriter) any { logLines(w, "epoch 7", "!a warning"); return nil }
		got := pinion(t, h, "attach", taskOne)
		if got.code != code || got.out != "epoch 7\n" || got.err != "a warning\n" {
			t.Errorf("exit code %d: %+v", code, got)
		}
	}
}

func TestWhoDetachesLeavesTheTaskRunning(t *testing.T) {
	for _, given := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		h := newRunHost(t, running)
		signals, gone := make(chan os.Signal, 1), make(chan struct{})
		h.documents[attachedLog] = func(w http.ResponseWriter) any {
			w.(http.Flusher).Flush()
			signals <- given
			<-gone
			return nil
		}
		got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "attach", taskOne)
		close(gone)
		if got.code != 0 || h.callCount("StopTask") != 0 || !strings.Contains(got.err, "detached: task 3f2a00000000 runs on") {
			t.Errorf("%v: StopTask %d times, %+v", given, h.callCount("StopTask"), got)
		}
	}
}

func TestAttachIsToOneRunningContainer(t *testing.T) {
	two := taskState("RUNNING", `"containers":[{"name":"cuda"},{"name":"sidecar"}]`)
	for line, c := range map[string]struct {
		task string
		code int
		says string
	}{
		"attach TASK":                  {two, exit.Usage, "cuda, sidecar"},
		"attach --container none TASK": {two, exit.Usage, "cuda, sidecar"},
		"attach TASK ":                 {exitedTask(1), exit.Failure, "pinion logs"},
		"attach -it TASK":              {two, exit.Usage, "pinion exec -it TASK"},
	} {
		h := newRunHost(t, c.task)
		if got := pinion(t, h, strings.Fields(strings.Replace(line, "TASK", taskOne, 1))...); got.code != c.code || !strings.Contains(got.err, c.says) {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
