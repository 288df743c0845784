package fake_test

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pinion/node/runtime"
	"pinion/node/runtime/fake"
	"pinion/node/runtime/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The fake knows the suite's commands instead of running them.
func TestTheFakeKeepsTheContract(t *testing.T) {
	runtimetest.Run(t, func(*testing.T) runtimetest.Harness {
		machine := fake.New()
		shell := func(script string) string { return "/bin/sh -c " + script }
		machine.SetProgram(shell(runtimetest.ExitCode), fake.Program{ExitCode: codeInEnvironment})
		machine.SetProgram(shell(runtimetest.RunForever), fake.Program{})
		machine.SetProgram(shell(runtimetest.Fork), fake.Program{})
		machine.SetProgram(shell(runtimetest.ExitOnSIGTERM), fake.Program{SIGTERMExitCode: fake.Code(5)})
		machine.SetProgram(shell(runtimetest.Echo), fake.Program{Command: echo})
		machine.SetProgram(shell(runtimetest.Hang), fake.Program{})
		machine.SetProgram(runtimetest.NoCommand, fake.Program{StartError: fmt.Errorf("%s: not found", runtimetest.NoCommand)})
		return harness(machine)
	})
}

func harness(machine *fake.Machine) runtimetest.Harness {
	runtime := machine.Open()
	runtime.FailPull("localhost:1/no/such/image:1", fmt.Errorf("connection refused"))
	return runtimetest.Harness{
		Images: runtime, Containers: runtime, Execer: runtime, Image: "busybox", GPUs: []string{"GPU-1"},
		Reopen: func(*testing.T) runtimetest.Harness { return harness(machine) },
	}
}

func codeInEnvironment(env []string) *int {
	i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, "CODE=") })
	if i < 0 {
		return fake.Code(0)
	}
	code, _ := strconv.Atoi(strings.TrimPrefix(env[i], "CODE="))
	return fake.Code(code)
}

func echo(stdio runtime.Stdio) int {
	io.Copy(stdio.Stdout, stdio.Stdin)
	io.WriteString(stdio.Stderr, "heard\n")
	return 4
}
