package cli

import (
	"fmt"
	"strings"
	"testing"

	"pinion/api/cli/exit"
)

// The command of `pinion run -it` runs in a task that waits for it, and the task ends with it, also when it cannot begin.
func TestARunWithATerminalIsAShell(t *testing.T) {
	h := newRunHost(t, pending, running)
	h.operations["tasks/"+taskOne+"/exec"] = always(errorReply{400, "InvalidParameterException", "the test runs no command"})
	h.operations["StopTask"] = always(`{}`)
	got := pinion(t, h, "run", "-it", "--gpus", "1", "nvidia/cuda:12.4", "--", "python", "-i")
	if got.code != exit.Failure || h.callCount("StopTask") != 1 {
		t.Errorf("%d stops: %+v", h.callCount("StopTask"), got)
	}
	asked := h.body(t, "tasks/"+taskOne+"/exec")
	checkEqual(t, "the command", fmt.Sprint(asked["command"], asked["tty"]), "[python -i] true")
	container := h.body(t, "RegisterTaskDefinition")["containerDefinitions"].([]any)[0].(map[string]any)
	if entry := fmt.Sprint(container["entryPoint"]); entry != "[sh -c]" || !strings.Contains(fmt.Sprint(container["command"]), "sleep") {
		t.Errorf("the task runs %v %v", entry, container["command"])
	}
	if h.body(t, "RunTask")["enableExecuteCommand"] != true {
		t.Error("nobody may run a command in it")
	}
}

func TestARunWithATerminalIsOneTaskOfAnImage(t *testing.T) {
	for line, says := range map[string]string{
		"run -it -d img/x":            "--detach",
		"run -i --count 2 img/x":      "--count",
		"run -t --service web img/x":  "--service",
		"run -it --no-exec img/x":     "--no-exec",
		"run -it -o json img/x":       "-o json",
		"run -it trainer:3 -- sh":     "pinion exec -it TASK",
		"run -it --entrypoint a im/x": "--entrypoint",
		"shell trainer:3":             "pinion exec -it TASK",
	} {
		h := newRunHost(t, running)
		h.operations["DescribeTaskDefinition"] = always(`{"taskDefinition":{"family":"trainer","revision":3,"containerDefinitions":[{"name":"main"}]}}`)
		if got := pinion(t, h, strings.Fields(line)...); got.code != exit.Usage || !strings.Contains(got.err, says) || h.callCount("RunTask") != 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
}
