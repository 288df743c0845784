package why

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pinion/api/cli/table"
	"pinion/api/client"
)

func stopped(t *testing.T, code, reason, containers string) client.Task {
	t.Helper()
	var task client.Task
	document := fmt.Sprintf(`{"lastStatus":"STOPPED","stopCode":%q,"stoppedReason":%q,"startedAt":100,"stoppedAt":160,"containers":[%s]}`, code, reason, containers)
	if err := json.Unmarshal([]byte(document), &task); err != nil {
		t.Fatal(err)
	}
	return task
}

func TestTheEndOfATaskIsExplained(t *testing.T) {
	const essential, plain = "EssentialContainerExited", "Essential container in task exited"
	for name, c := range map[string]struct {
		code, reason, containers string
		failed                   bool
		says, advice             string
	}{
		"went well":       {essential, plain, `{"name":"c","exitCode":0}`, false, "succeeded: it ran for 60s", ""},
		"exit code":       {essential, plain, `{"name":"c","exitCode":3}`, true, "failed: container c exited with code 3", ""},
		"a signal":        {essential, plain, `{"name":"c","exitCode":139}`, true, "exited with code 139 (signal SIGSEGV)", "a bug"},
		"the first":       {essential, plain, `{"name":"side","exitCode":0},{"name":"c","exitCode":1},{"name":"d","exitCode":2}`, true, "container c exited with code 1", ""},
		"out of memory":   {essential, plain, `{"name":"c","exitCode":137,"reason":"OutOfMemoryError: Container killed due to memory usage"}`, true, "its memory limit of 64 MiB (exit code 137)", "--memory"},
		"no image":        {"TaskFailedToStart", "x", `{"name":"c","image":"nosuch","reason":"CannotPullContainerError: not found"}`, true, "image nosuch could not be pulled: not found", "Check the name"},
		"no program":      {"TaskFailedToStart", "x", `{"name":"c","reason":"CannotStartContainerError: exec: \"x\": executable file not found in $PATH"}`, true, "container c could not be started", "no such program"},
		"built in":        {"TaskFailedToStart", "x", `{"name":"c","image":"pinion/self","reason":"CannotStartContainerError: exec: \"env\": executable file not found in $PATH"}`, true, "container c could not be started", "pinion is the only one"},
		"host lost":       {essential, "Host gpu-1 was lost: no heartbeat for 1m0s", `{"name":"c"}`, true, "failed: Host gpu-1 was lost", "--retries"},
		"requeued":        {"SpotInterruption", "Requeued by anna", `{"name":"c","exitCode":143}`, false, "was stopped, and its work queues again: Requeued by anna", ""},
		"preempted":       {"SpotInterruption", "Preempted by task 3f2a", `{"name":"c","exitCode":143}`, false, "gave way to a task of higher priority: Preempted by task 3f2a", "--preemptible"},
		"time limit":      {"ServiceSchedulerInitiated", "The task reached its time limit of 1h (pinion.time-limit)", `{"name":"c","exitCode":143}`, true, "failed: it reached its time limit of 1h", "--time-limit"},
		"dependency":      {"ServiceSchedulerInitiated", "It waited for group:a, which failed", ``, true, "failed: it waited for group:a", ""},
		"its gang":        {"ServiceSchedulerInitiated", "Rank 0 of the gang (task 3f2a) ended, and all end with it", `{"name":"c","exitCode":143}`, false, "was stopped by the pool: Rank 0", ""},
		"without reason":  {"UserInitiated", "", `{"name":"c","exitCode":143}`, false, "was stopped: no reason was given", ""},
		"somebody":        {"UserInitiated", "wrong data set", `{"name":"c","exitCode":143}`, false, "was stopped: wrong data set", ""},
		"killed":          {"UserInitiated", "stopped with pinion stop", `{"name":"c","exitCode":137}`, false, "container c was killed (exit code 137)", "--stop-timeout"},
		"never had place": {"TaskFailedToStart", "No host has the GPU.", ``, true, "failed: No host has the GPU", ""},
	} {
		got := endOf(stopped(t, c.code, c.reason, c.containers))
		if got.outOfMemory {
			got.addLimit(64)
		}
		if got.failed != c.failed || !strings.Contains(got.String(), c.says) || !strings.Contains(got.advice, c.advice) || c.advice == "" && got.advice != "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestEqualRefusalsAreOneRow(t *testing.T) {
	var refusals []client.Refusal
	names := map[string]string{}
	for i := range 200 {
		id := fmt.Sprintf("h%d", i)
		names[id] = "gpu-" + id
		refusals = append(refusals, client.Refusal{HostID: id, Reason: "RESOURCE:GPU", Detail: "needs 8 GPUs, 0 free"})
	}
	refusals[7].Detail = "needs 8 GPUs, 4 free"
	var b strings.Builder
	if err := refusalTable(refusals, names).Write(&b, table.Screen{Columns: 80}); err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), `
HOST       REASON        DETAIL
199 hosts  RESOURCE:GPU  needs 8 GPUs, 0 free
gpu-h7     RESOURCE:GPU  needs 8 GPUs, 4 free
`[1:]; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTheUseOfTheGPUsIsTold(t *testing.T) {
	const measured = `{"name":"c","exitCode":0,"gpuTotals":{"measuredSeconds":900,"busySeconds":300,"joules":720000,"peakMemoryMiB":73728}},{"name":"d","exitCode":0,"gpuTotals":{"measuredSeconds":100,"busySeconds":100}}`
	for containers, want := range map[string]string{
		measured:                    " Its GPUs computed for 40% of the time, with at most 72 GiB of memory in use, and needed 0.2 kWh.",
		`{"name":"c","exitCode":0}`: "",
		`{"name":"c","exitCode":0,"gpuTotals":{"measuredSeconds":3600,"busySeconds":0}}`: " Its GPUs computed for 0% of the time.",
	} {
		if got := gpuUse(stopped(t, "EssentialContainerExited", "", containers)); got != want {
			t.Errorf("%s: %q", containers, got)
		}
	}
}

func TestTheMemoryThatWasUsedIsTold(t *testing.T) {
	for containers, want := range map[string]string{
		`{"name":"c","exitCode":0}`:                                                                  "",
		`{"name":"c","exitCode":0,"peakMemory":1610612736}`:                                          "1.5 GiB",
		`{"name":"c","exitCode":0,"peakMemory":2097152},{"name":"d","exitCode":0},{"name":"e"}`:      "c 2.0 MiB",
		`{"name":"c","exitCode":0,"peakMemory":2097152},{"name":"d","exitCode":0,"peakMemory":2048}`: "c 2.0 MiB, d 2.0 KiB",
	} {
		got := memoryUse(stopped(t, "EssentialContainerExited", "", containers))
		if !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", containers, got)
		}
	}
}
