package containerd_test

import (
	"bytes"
	"strings"
	"testing"

	"pinion/node/runtime"
)

func TestACommandOnATerminal(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("sleep 1000"))
	for name, want := range map[string]struct {
		tty  bool
		code int
		out  string
	}{
		"with a terminal":    {true, 0, "terminal\r\n"},
		"without a terminal": {false, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code, err := h.runtime.Exec(h.ctx(), c.ID, runtime.ExecRequest{
				Cmd: []string{"sh", "-c", "test -t 1 && echo terminal"}, TTY: want.tty, Stdio: runtime.Stdio{Stdout: &out},
			})
			if code != want.code || err != nil || out.String() != want.out {
				t.Errorf("it returned %d, %v and wrote %q, want %d and %q", code, err, &out, want.code, want.out)
			}
		})
	}
}

func TestALongOutputOfACommandIsWhole(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("sleep 1000"))
	var out, errs bytes.Buffer
	code, err := h.runtime.Exec(h.ctx(), c.ID, runtime.ExecRequest{
		Cmd: []string{"sh", "-c", "seq 1 100000; cat >&2"}, Stdio: runtime.Stdio{Stdin: strings.NewReader(strings.Repeat("x", 1<<20)), Stdout: &out, Stderr: &errs},
	})
	if code != 0 || err != nil || strings.Count(out.String(), "\n") != 100000 || errs.Len() != 1<<20 {
		t.Errorf("it returned %d, %v with %d lines and %d bytes", code, err, strings.Count(out.String(), "\n"), errs.Len())
	}
}

// A health check that prints, as curl does, has passed: nobody reads what it writes, and nothing of it is in its way.
func TestACommandWhoseOutputNobodyReadsMayWrite(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sh("sleep 1000"))
	code, err := h.runtime.Exec(h.ctx(), c.ID, runtime.ExecRequest{Cmd: []string{"sh", "-c", "echo out && echo err >&2 && seq 1 100000"}})
	if code != 0 || err != nil {
		t.Errorf("it returned %d, %v", code, err)
	}
}
