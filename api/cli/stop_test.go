package cli

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/invocation"
)

func TestStopWaitsUntilTheTaskIsGone(t *testing.T) {
	h := newRunHost(t, running, taskState("STOPPING", `"containers":[]`), taskState("STOPPING", `"containers":[]`), exitedTask(0))
	h.operations["StopTask"] = always("{}")
	got := pinion(t, h, "stop", "--reason", "wrong data set", taskOne)
	checkEqual(t, "stdout", got.out, taskOne+"\n")
	checkEqual(t, "stderr", got.err, "3f2a00000000 is STOPPING ...; `pinion stop --force` does not wait for its stop timeout\n")
	if got.code != 0 || !strings.Contains(h.bodies["StopTask"], `"reason":"wrong data set"`) {
		t.Errorf("%+v, sent %s", got, h.bodies["StopTask"])
	}
}

// The pauses between reads never end here: only what the host tells does.
func TestStopIsWokenByTheEventsOfItsTask(t *testing.T) {
	states := []string{running, taskState("STOPPING", `"containers":[]`), taskState("STOPPING", `"containers":[]`), exitedTask(0)}
	h := newRunHost(t, states...)
	h.operations["StopTask"] = always("{}")
	read := make(chan bool, len(states))
	describe := h.operations["DescribeTasks"]
	h.operations["DescribeTasks"] = func(in map[string]any) any {
		read <- true
		return describe(in)
	}
	h.documents["/v1/events?cluster=default&task="+taskOne+"&type=task"] = func(w http.ResponseWriter) any {
		for range read {
			io.WriteString(w, "id: 7-0\n\n")
			w.(http.Flusher).Flush()
		}
		return nil
	}
	t.Cleanup(func() { close(read) })
	pause := func(ctx context.Context, _ time.Duration) error { <-ctx.Done(); return ctx.Err() }
	if got := pinionWith(t, Program{system: invocation.System{Sleep: pause}}, h, "stop", taskOne); got.code != 0 || got.out != taskOne+"\n" {
		t.Errorf("%+v", got)
	}
}

func TestStopNeedNotWait(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask)
	h.operations["StopTask"] = always("{}")
	got := pinion(t, h, "stop", "--no-wait", "3f2a")
	if got.code != 0 || got.out != taskOne+"\n" || h.callCount("DescribeTasks") != 1 {
		t.Errorf("%+v", got)
	}
}

func TestAForcedStopSaysSo(t *testing.T) {
	h := newFakeHost(t).withTasks(runningTask)
	h.operations["StopTask"] = always("{}")
	if got := pinion(t, h, "stop", "--no-wait", "--force", "3f2a"); got.code != 0 || got.err != "" || !strings.Contains(h.bodies["StopTask"], `"force":true`) {
		t.Errorf("%+v, sent %s", got, h.bodies["StopTask"])
	}
}

func TestStopOfATaskThatIsNotThereNamesIt(t *testing.T) {
	h := newFakeHost(t)
	h.operations["StopTask"] = always(errorReply{400, "InvalidParameterException", "The referenced task was not found."})
	if got := pinion(t, h, "stop", taskTwo); got.code != 1 || got.err != "pinion: task 91bc00000000: The referenced task was not found.\n" {
		t.Errorf("%+v", got)
	}
}

// Programs get the words of the host.
func TestARefusedKeyIsNamedAsPeopleDo(t *testing.T) {
	const refused = "arn:aws:iam::123456789012:user/AKIA1 may not do StopTask"
	h := newFakeHost(t)
	h.operations["StopTask"] = always(errorReply{403, "AccessDeniedException", refused})
	checkEqual(t, "for people", pinion(t, h, "stop", taskTwo).err, "pinion: task 91bc00000000: key AKIA1 may not do StopTask\n")
	checkEqual(t, "for programs", pinion(t, h, "stop", taskTwo, "-o", "json").err, "pinion: task 91bc00000000: "+refused+" (AccessDeniedException)\n")
}

func TestLogsPutsEachStreamWhereItBelongs(t *testing.T) {
	h := newFakeHost(t).withTasks(failedTask)
	h.documents["/v1/tasks/"+taskTwo+"/logs?container=cuda&since=2025-06-01T11%3A50%3A00Z&tail=2"] = func(w http.ResponseWriter) any {
		logLines(w, "out", "!err")
		return nil
	}
	got := pinion(t, h, "logs", "--tail", "2", "--since", "10m", "--container", "cuda", "--timestamps", "91")
	checkEqual(t, "stdout", got.out, "2025-06-01T11:59:00.000Z out\n")
	checkEqual(t, "stderr", got.err, "2025-06-01T11:59:01.000Z err\n")
}

func TestLogsOfSeveralContainersNamesThem(t *testing.T) {
	h := newFakeHost(t).withTasks(taskDocument(taskTwo, `x:1","desiredStatus":"RUNNING","containers":[{"name":"cuda"},{"name":"other"}]`))
	h.documents["/v1/tasks/"+taskTwo+"/logs"] = func(w http.ResponseWriter) any { logLines(w, "out"); return nil }
	checkEqual(t, "stdout", pinion(t, h, "logs", "91").out, "[cuda] out\n")
	checkEqual(t, "as JSON", pinion(t, h, "logs", "-o", "json", "91").out, `{"time":"2025-06-01T11:59:00Z","container":"cuda","stream":"stdout","text":"out"}`+"\n")
}

func TestTheFileOfALogIsToldWithItsHost(t *testing.T) {
	h := newFakeHost(t).withTasks(failedTask, taskDocument(taskOne, `x:1","lastStatus":"PROVISIONING","desiredStatus":"RUNNING","containers":[{"name":"c"}]`))
	got := pinion(t, h, "logs", "--path", "91")
	checkEqual(t, "stdout", strings.ReplaceAll(got.out, h.dir, "DIR"), "gpu-1:DIR/logs/"+taskTwo+"/cuda.log\n")
	if got := pinion(t, h, "logs", "--path", "3f"); got.out != "" || !strings.Contains(got.err, "no host") {
		t.Errorf("of a task that waits: %+v", got)
	}
	if got := pinion(t, h, "logs", "--path", "-f", "91"); got.code != 2 {
		t.Errorf("%+v", got)
	}
	checkEqual(t, "as JSON", strings.Join(strings.Fields(strings.ReplaceAll(pinion(t, h, "logs", "--path", "-o", "json", "91").out, h.dir, "DIR")), ""),
		`[{"task":"`+taskTwo+`","container":"cuda","host":"gpu-1","path":"DIR/logs/`+taskTwo+`/cuda.log"}]`)
}

func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	h := newFakeHost(t).withTasks(failedTask)
	h.documents["/v1/tasks/"+taskTwo+"/logs?container=trainer"] = func(http.ResponseWriter) any {
		return errorReply{400, "InvalidParameterException", "task has no container trainer"}
	}
	if got := pinion(t, h, "logs", "--container", "trainer", "91"); got.code != 1 || got.err != "pinion: task has no container trainer\n" {
		t.Errorf("%+v", got)
	}
}
