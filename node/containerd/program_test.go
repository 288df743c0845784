package containerd_test

import (
	"errors"
	"testing"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// A command that is not in its image does not start, whatever begins the container, and says so as runc does. Nothing is left of it.
func TestACommandThatIsNotThereDoesNotStart(t *testing.T) {
	h := newHost(t).withBusybox()
	for name, change := range map[string]func(*runtime.ContainerSpec){
		"itself":               func(*runtime.ContainerSpec) {},
		"an init":              withInit,
		"secrets":              withSecrets("", password),
		"files of secrets":     withSecrets("/run/secrets", password),
		"an init of other ids": func(c *runtime.ContainerSpec) { withInit(c); withIDs(someIDs)(c) },
		"another PATH": func(c *runtime.ContainerSpec) {
			withInit(c)
			c.Def.Environment = []spec.KeyValue{{Name: "PATH", Value: "/etc"}}
		},
		"a PATH that is secret": withSecrets("", runtime.Secret{Name: "PATH", Value: "/etc"}),
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.t = t
			for command, want := range map[string]string{
				"no-such-program":  `exec: "no-such-program": executable file not found in $PATH: the image has no program "no-such-program"`,
				"/no/such/program": `exec: "/no/such/program": stat /no/such/program: no such file or directory: the image has no program "/no/such/program"`,
				"/etc":             `exec: "/etc": is a directory`,
			} {
				c := h.task(change, func(c *runtime.ContainerSpec) { c.Def.EntryPoint, c.Def.Command = nil, []string{command} })
				err := h.runtime.Start(h.ctx(), c)
				if err == nil || errors.Is(err, runtime.ErrCreate) || err.Error() != want {
					t.Errorf("%v, want %s", err, want)
				}
				if _, err := h.runtime.Wait(h.ctx(), c.ID); !errors.Is(err, runtime.ErrNotFound) {
					t.Errorf("what is left of it: %v", err)
				}
			}
		})
	}
}
