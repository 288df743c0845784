package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// loginHook has the credentials of registries, or an error.
type loginHook struct{ err error }

func (loginHook) Name() string { return "logins" }

func (h loginHook) RegistryLogin(_ context.Context, c *spec.ContainerDefinition) (runtime.RegistryLogin, error) {
	return runtime.RegistryLogin{Username: "me", Password: "of " + c.RepositoryCredentials.CredentialsParameter}, h.err
}

func privateContainer(name string) spec.ContainerDefinition {
	c := container(name)
	c.RepositoryCredentials = &valuefrom.RepositoryCredentials{CredentialsParameter: "hub"}
	return c
}

// Without its credentials a container's image is not pulled, and the reason names the secret.
func TestATaskWithoutTheCredentialsOfItsRegistryEnds(t *testing.T) {
	for name, hooks := range map[string][]task.Hook{"it cannot have them": {loginHook{err: errors.New("no such secret")}}, "nobody gets them": nil} {
		t.Run(name, func(t *testing.T) {
			simulate(t, func(w *simHost) {
				w.hooks = func(spec.Assignment) []task.Hook { return hooks }
				w.boot()
				run := w.control.run("t1", privateContainer("main"))
				w.advance(time.Second)
				report := w.control.lastReport(run)
				w.want("stop code", report.StopCode, spec.StopFailedToStart)
				if !strings.HasPrefix(report.StoppedReason, "CannotPullContainerError: ") || !strings.Contains(report.StoppedReason, "credentials hub") {
					w.Errorf("the reason is %q", report.StoppedReason)
				}
				w.want("pulls", w.runtime.PullCount("main:1"), 0)
				w.wantNothingLeft()
			})
		})
	}
}

func TestAPullThatFailsNamesItsCredentials(t *testing.T) {
	simulate(t, func(w *simHost) {
		w.hooks = func(spec.Assignment) []task.Hook { return []task.Hook{loginHook{}} }
		w.boot()
		w.runtime.FailPull("main:1", errors.New("denied"))
		run := w.control.run("t1", privateContainer("main"))
		w.advance(time.Second)
		if reason := w.control.lastReport(run).StoppedReason; !strings.Contains(reason, "denied; the credentials are those of hub") || strings.Contains(reason, "of hub of hub") {
			w.Errorf("the reason is %q", reason)
		}
	})
}
