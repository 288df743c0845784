package containerd_test

import (
	"strings"
	"syscall"
	"testing"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

func withInit(c *runtime.ContainerSpec) {
	c.Def.LinuxParameters = &spec.LinuxParameters{InitProcessEnabled: new(true)}
}

func TestAnInitIsTheFirstProcess(t *testing.T) {
	h := newHost(t).withBusybox()
	const zombies = `(sh -c 'sleep 0.1 & exec true' &); sleep 1; grep -l '^State:.*Z' /proc/[0-9]*/status | wc -l`
	terminal := func(c *runtime.ContainerSpec) { c.Def.PseudoTerminal = new(true) }
	plain := func(*runtime.ContainerSpec) {}
	for name, c := range map[string]struct {
		change       func(*runtime.ContainerSpec)
		script, want string
		code         int
	}{
		"of which the command is a child":   {plain, "tr '\\0' ' ' </proc/1/cmdline; echo; [ $$ != 1 ] && echo child", "/run/pinion/entrypoint -init -- sh -c", 0},
		"that reaps lost processes":         {plain, zombies, "0\n", 0},
		"with the exit code of the command": {plain, "echo out; exit 7", "out\n", 7},
		"with the signal of the command":    {plain, "echo out; kill -9 $$", "out\n", 137},
		"of another user":                   {asUser("1234"), "id -u; stat -c %u /proc/1", "1234\n1234\n", 0},
		"in a user namespace":               {withIDs(someIDs), "id -u; [ $$ != 1 ] && echo child", "0\nchild\n", 0},
		"with a terminal":                   {terminal, "test -t 0 && test -t 1 && echo terminal; stty -echo && echo mine", "terminal\r\nmine\r\n", 0},
		"with secrets":                      {withSecrets("", password), "echo $DB_PASSWORD; tr '\\0' '\\n' </proc/1/environ | grep -c DB_PASSWORD", secretText + "\n0\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.t = t
			if exit, out := h.run(withInit, c.change, sh(c.script)); !strings.HasPrefix(out, c.want) || exit.Code != c.code {
				t.Errorf("it wrote %q, want %q (exit %+v)", out, c.want, exit)
			}
		})
	}
	t.Run("that hands signals on", func(t *testing.T) {
		h := *h
		h.t = t
		for script, code := range map[string]int{"echo ready; exec sleep 1000": 128 + int(syscall.SIGTERM), "trap 'exit 5' TERM; echo ready; while :; do sleep 0.1; done": 5} {
			c := h.start(withInit, sh(script))
			h.awaitLine(c, "ready")
			must(t, h.runtime.Kill(h.ctx(), c.ID, syscall.SIGTERM))
			if exit := h.wait(c); exit.Code != code {
				t.Errorf("%s: %+v, want %d", script, exit, code)
			}
		}
	})
}
