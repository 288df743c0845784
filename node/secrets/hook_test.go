package secrets_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"pinion/node/runtime"
	"pinion/node/secrets"
	"pinion/node/task"
	"pinion/raftfsm/label"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// prepare runs the hooks of a task with one container, and returns what that is given.
func prepare(t *testing.T, source secrets.Source, container spec.ContainerDefinition) (runtime.ContainerSpec, error) {
	t.Helper()
	source.Log = slog.New(slog.DiscardHandler)
	definition := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{container}}
	start := &task.Start{Spec: runtime.ContainerSpec{Def: &definition.Containers[0]}}
	for _, h := range source.Hooks(spec.Assignment{Task: &spec.Task{ID: "t", Cluster: "lab"}, Definition: definition}) {
		err := h.(task.PrestartHook).Prestart(t.Context(), []*task.Start{start})
		if err == nil {
			err = h.(task.SpecHook).BuildSpec(start)
		}
		if err != nil {
			return start.Spec, err
		}
	}
	return start.Spec, nil
}

func poolWith(values ...valuefrom.Value) func(context.Context, string) ([]valuefrom.Value, error) {
	return func(context.Context, string) ([]valuefrom.Value, error) { return values, nil }
}

func TestAContainerIsGivenItsOwnSecrets(t *testing.T) {
	pool := poolWith(valuefrom.Value{Container: "main", Name: "A", Value: "one"}, valuefrom.Value{Container: "side", Name: "A", Value: "two"}, valuefrom.Value{Container: "main", Name: "B", Value: "three"})
	main := spec.ContainerDefinition{Name: "main", Secrets: []valuefrom.Secret{{Name: "A", ValueFrom: "a"}}, DockerLabels: map[string]string{label.SecretFiles: "/run/secrets"}}
	got, err := prepare(t, secrets.Source{Pool: pool}, main)
	if want := []runtime.Secret{{Name: "A", Value: "one"}}; err != nil || !slices.Equal(got.Secrets, want) || got.SecretFiles != "/run/secrets" {
		t.Errorf("%+v, %v", got, err)
	}
	if hooks := (secrets.Source{Pool: pool}).Hooks(spec.Assignment{Definition: &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "plain"}}}}); len(hooks) != 0 {
		t.Error("a task without secrets waits for some")
	}
	if _, err := prepare(t, secrets.Source{Pool: poolWith()}, main); err == nil || !strings.Contains(err.Error(), "secret A of container main") {
		t.Errorf("a pool that forgets one: %v", err)
	}
}

func TestAPoolThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		pool := func(context.Context, string) ([]valuefrom.Value, error) {
			if asked++; asked < 5 {
				return nil, fmt.Errorf("an election: %w", spec.ErrUnavailable)
			}
			return []valuefrom.Value{{Container: "main", Name: "A", Value: "one"}}, nil
		}
		got, err := prepare(t, secrets.Source{Pool: pool}, spec.ContainerDefinition{Name: "main", Secrets: []valuefrom.Secret{{Name: "A", ValueFrom: "a"}}})
		if err != nil || len(got.Secrets) != 1 || asked != 5 {
			t.Errorf("%+v, %v, asked %d times", got.Secrets, err, asked)
		}
	})
}

func TestATaskWithoutItsSecretEnds(t *testing.T) {
	pool := func(context.Context, string) ([]valuefrom.Value, error) {
		return nil, fmt.Errorf("secret A of container main: %w: parameter a: not found", valuefrom.ErrUnresolved)
	}
	_, err := prepare(t, secrets.Source{Pool: pool}, spec.ContainerDefinition{Name: "main", Secrets: []valuefrom.Secret{{Name: "A", ValueFrom: "a"}}})
	var wrong *task.StartError
	if !errors.As(err, &wrong) || wrong.Kind != "ResourceInitializationError" || !strings.Contains(err.Error(), "parameter a") {
		t.Errorf("%v", err)
	}
}

func TestAProgramOfTheHostPrintsASecret(t *testing.T) {
	program := func(script string) map[string]string {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
		return map[string]string{"vault": path}
	}
	for name, c := range map[string]struct {
		commands   map[string]string
		want, says string // of the two one
	}{
		"its output":               {program(`printf 'value of %s for %s in %s\nend\n' "$1" $PINION_TASK $PINION_CLUSTER`), "value of kv/db#password for t in lab\nend", ""},
		"nothing of Pinion's own":  {program(`env | grep -c AWS_; true`), "0", ""},
		"that fails":               {program("echo no such path >&2; exit 3"), "", "no such path"},
		"with too much to say":     {program("head -c 100000 /dev/zero"), "", "more than"},
		"that is not there":        {map[string]string{"vault": "/no/such/program"}, "", "no such file"},
		"that the host has not":    {nil, "", "--secret-command vault=PATH"},
		"with a blank as argument": {program(`[ $# = 1 ] && printf %s "$1"`), "kv/db#password", ""},
	} {
		t.Run(name, func(t *testing.T) {
			container := spec.ContainerDefinition{Name: "main", Secrets: []valuefrom.Secret{{Name: "A", ValueFrom: "pinion:command:vault:kv/db#password"}}}
			got, err := prepare(t, secrets.Source{Commands: c.commands}, container)
			switch {
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)):
				t.Errorf("%v, want %q", err, c.says)
			case c.says == "" && (err != nil || got.Secrets[0].Value != c.want):
				t.Errorf("%+v, %v, want %q", got.Secrets, err, c.want)
			}
		})
	}
}
