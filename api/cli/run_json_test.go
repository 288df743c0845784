package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestRunAsJSONAnswersTheTaskAsItEndedAndNothingElse(t *testing.T) {
	got := pinion(t, newRunHost(t, pending, running, exitedTask(3)), "run", "-o", "json", "nvidia/cuda")
	var task struct {
		Status     string `json:"lastStatus"`
		Containers []struct {
			ExitCode int `json:"exitCode"`
		} `json:"containers"`
	}
	if err := json.Unmarshal([]byte(got.out), &task); err != nil || task.Status != "STOPPED" || task.Containers[0].ExitCode != 3 {
		t.Errorf("%v: stdout %s", err, got.out)
	}
	if got.code != 3 || !strings.Contains(got.err, "epoch 1\n") || !strings.Contains(got.err, "a warning\n") {
		t.Errorf("what the container wrote belongs on stderr, and its code is the run's: %d, %q", got.code, got.err)
	}
}

func TestRunAsJSONOfSeveralTasksIsAListInTheirOrder(t *testing.T) {
	h := newFakeHost(t).withTasks(failedTask, exitedTask(0))
	h.operations["RegisterTaskDefinition"] = always(`{"taskDefinition":{"family":"run-cuda","revision":4}}`)
	h.operations["RunTask"] = always(`{"tasks":[` + exitedTask(0) + `,` + failedTask + `],"failures":[]}`)
	got := pinion(t, h, "run", "-o", "json", "--count", "2", "nvidia/cuda")
	var tasks []struct {
		ARN string `json:"taskArn"`
	}
	if err := json.Unmarshal([]byte(got.out), &tasks); err != nil || len(tasks) != 2 || !strings.HasSuffix(tasks[0].ARN, taskOne) || !strings.HasSuffix(tasks[1].ARN, taskTwo) {
		t.Errorf("%v: stdout %s", err, got.out)
	}
	if got.code != 137 {
		t.Errorf("exit code %d", got.code)
	}
}

func TestRunAsJSONThatIsLeftAnswersNothing(t *testing.T) {
	h := newRunHost(t, pending)
	h.operations["DescribeTasks"] = always(errorReply{400, "ClientException", "no"})
	if got := pinion(t, h, "run", "-o", "json", "nvidia/cuda"); got.out != "" || got.code != 1 {
		t.Errorf("%+v", got)
	}
}
