package node_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pinion/node/runtime"
	"pinion/node/runtime/fake"
	"pinion/raftfsm/execcommand"
	"pinion/raftfsm/spec"
)

// A host runs commands in containers that run, where the task allows it: it does not take the word of a server for either.
func TestAHostRunsCommandsWhereTheTaskAllowsIt(t *testing.T) {
	powerful := container("main")
	powerful.LinuxParameters = &spec.LinuxParameters{Capabilities: &spec.Capabilities{Add: []string{"NET_ADMIN"}}}
	simulate(t, func(w *simHost) {
		w.allow = []string{"NET_ADMIN"}
		w.machine.SetProgram("hello", fake.Program{Command: func(s runtime.Stdio) int { fmt.Fprint(s.Stdout, "hello"); return 7 }})
		w.boot()
		definition := spec.TaskDefinition{Containers: []spec.ContainerDefinition{container("main")}}
		open := w.control.assign("t1", definition, func(t *spec.Task) { t.Exec = true })
		closed := w.control.assign("t2", definition, func(*spec.Task) {})
		strong := w.control.assign("t3", spec.TaskDefinition{Containers: []spec.ContainerDefinition{powerful}}, func(t *spec.Task) { t.Exec, t.ByAdmin = true, true })
		w.waitIdle()
		for _, c := range []struct {
			task, container string
			admin           bool
			want            error
		}{
			{open, "main", false, nil}, {open, "main", true, nil}, {closed, "main", true, nil}, {strong, "main", true, nil},
			{closed, "main", false, execcommand.ErrRefused}, {strong, "main", false, execcommand.ErrRefused},
			{open, "other", false, spec.ErrNotFound}, {"t9", "main", true, spec.ErrNotFound},
		} {
			var out bytes.Buffer
			code, err := w.node.Exec(t.Context(), execcommand.Request{Task: c.task, Container: c.container, Command: []string{"hello"}, Admin: c.admin, Stdout: &out})
			if !errors.Is(err, c.want) || c.want == nil && (code != 7 || out.String() != "hello") {
				t.Errorf("%+v: %d, %v and %q", c, code, err, &out)
			}
		}
		w.control.stop(open, "enough")
		w.waitIdle()
		if _, err := w.node.Exec(t.Context(), execcommand.Request{Task: open, Container: "main", Command: []string{"hello"}, Admin: true}); !errors.Is(err, spec.ErrNotFound) {
			t.Errorf("in a task that has ended: %v", err)
		}
	})
}
