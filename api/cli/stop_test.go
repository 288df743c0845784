package cli

import (
	"net/http"
	"strings"
	"testing"
)

func TestStopWaitsUntilTheTaskIsGone(t *testing.T) {
	d := runDoor(t, running, look("STOPPING", `"containers":[]`), look("STOPPING", `"containers":[]`), exited(0))
	d.operations["StopTask"] = always("{}")
	got := pinion(t, d, "stop", "--reason", "wrong data set", taskOne)
	same(t, "stdout", got.out, taskOne+"\n")
	same(t, "stderr", got.err, "3f2a00000000 is STOPPING ...\n")
	if got.code != 0 || !strings.Contains(d.sent["StopTask"], `"reason":"wrong data set"`) {
		t.Errorf("%+v, sent %s", got, d.sent["StopTask"])
	}
}

func TestStopNeedNotWait(t *testing.T) {
	d := openDoor(t).withTasks(runningTask)
	d.operations["StopTask"] = always("{}")
	got := pinion(t, d, "stop", "--no-wait", "3f2a")
	if got.code != 0 || got.out != taskOne+"\n" || d.did("DescribeTasks") != 1 {
		t.Errorf("%+v", got)
	}
}

func TestStopOfATaskThatIsNotThereNamesIt(t *testing.T) {
	d := openDoor(t)
	d.operations["StopTask"] = always(refusal{400, "InvalidParameterException", "The referenced task was not found."})
	if got := pinion(t, d, "stop", taskTwo); got.code != 1 || got.err != "pinion: task 91bc00000000: The referenced task was not found. (InvalidParameterException)\n" {
		t.Errorf("%+v", got)
	}
}

func TestLogsPutsEachStreamWhereItBelongs(t *testing.T) {
	d := openDoor(t).withTasks(failedTask)
	d.documents["/v1/tasks/"+taskTwo+"/logs?container=cuda&since=2025-06-01T11%3A50%3A00Z&tail=2"] = func(w http.ResponseWriter) any {
		logLines(w, "out", "!err")
		return nil
	}
	got := pinion(t, d, "logs", "--tail", "2", "--since", "10m", "--container", "cuda", "--timestamps", "91")
	same(t, "stdout", got.out, "2025-06-01T11:59:00.000Z out\n")
	same(t, "stderr", got.err, "2025-06-01T11:59:01.000Z err\n")
}

func TestLogsOfSeveralContainersNamesThem(t *testing.T) {
	d := openDoor(t).withTasks(taskDocument(taskTwo, `x:1","desiredStatus":"RUNNING","containers":[{"name":"cuda"},{"name":"other"}]`))
	d.documents["/v1/tasks/"+taskTwo+"/logs"] = func(w http.ResponseWriter) any { logLines(w, "out"); return nil }
	same(t, "stdout", pinion(t, d, "logs", "91").out, "[cuda] out\n")
	same(t, "as JSON", pinion(t, d, "logs", "-o", "json", "91").out, `{"time":"2025-06-01T11:59:00Z","container":"cuda","stream":"stdout","text":"out"}`+"\n")
}

func TestALogThatCannotBeReadIsAnError(t *testing.T) {
	d := openDoor(t).withTasks(failedTask)
	d.documents["/v1/tasks/"+taskTwo+"/logs?container=trainer"] = func(http.ResponseWriter) any {
		return refusal{400, "InvalidParameterException", "task has no container trainer"}
	}
	if got := pinion(t, d, "logs", "--container", "trainer", "91"); got.code != 1 || got.err != "pinion: task has no container trainer (InvalidParameterException)\n" {
		t.Errorf("%+v", got)
	}
}
