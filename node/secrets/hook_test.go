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

func poolWith(values ...valuefrom.Value) func(context.Context, string, []string) ([]valuefrom.Value, error) {
	return func(context.Context, string, []string) ([]valuefrom.Value, error) { return values, nil }
}

func value(container, name, value string) valuefrom.Value {
	return valuefrom.Value{Container: container, Name: name, Value: []byte(value)}
}

func TestAContainerIsGivenItsOwnSecrets(t *testing.T) {
	pool := poolWith(value("main", "A", "one"), value("side", "A", "two"), value("main", "B", "three"))
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

// A container that is restarted while another waits for its turn leaves that one its values.
func TestARestartTakesNoValuesOfOthers(t *testing.T) {
	asked := 0
	source := secrets.Source{Log: slog.New(slog.DiscardHandler), Pool: func(_ context.Context, _ string, containers []string) (all []valuefrom.Value, err error) {
		asked++
		for _, name := range containers {
			all = append(all, value(name, "A", fmt.Sprint(name, asked)))
		}
		return all, nil
	}}
	wants := []valuefrom.Secret{{Name: "A", ValueFrom: "a"}}
	definition := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "side", Secrets: wants}, {Name: "main", Secrets: wants}}}
	side, main := &task.Start{Spec: runtime.ContainerSpec{Def: &definition.Containers[0]}}, &task.Start{Spec: runtime.ContainerSpec{Def: &definition.Containers[1]}}
	h := source.Hooks(spec.Assignment{Task: &spec.Task{ID: "t"}, Definition: definition})[0]
	prestart := func(starts ...*task.Start) {
		t.Helper()
		if err := h.(task.PrestartHook).Prestart(t.Context(), starts); err != nil {
			t.Fatal(err)
		}
	}
	build := func(start *task.Start, want string) {
		t.Helper()
		if err := h.(task.SpecHook).BuildSpec(start); err != nil || start.Spec.Secrets[0].Value != want {
			t.Errorf("%v, %v, want %s", start.Spec.Secrets, err, want)
		}
	}
	prestart(side, main)
	build(side, "side1")
	prestart(side)
	build(side, "side2")
	build(main, "main1")
	if err := h.(task.SpecHook).BuildSpec(main); err == nil {
		t.Error("the values are kept")
	}
}

func TestAProgramIsOfRootAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for mode, right := range map[os.FileMode]bool{0o700: true, 0o755: true, 0o600: false, 0o775: false, 0o757: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if err := secrets.CheckCommands(map[string]string{"p": path}); (err == nil) != right {
			t.Errorf("%o: %v", mode, err)
		}
	}
	for _, wrong := range []string{t.TempDir(), "/no/such/program"} {
		if err := secrets.CheckCommands(map[string]string{"p": wrong}); err == nil {
			t.Errorf("%s is a program", wrong)
		}
	}
}

func TestAPoolThatDoesNotAnswerIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		pool := func(context.Context, string, []string) ([]valuefrom.Value, error) {
			if asked++; asked < 5 {
				return nil, fmt.Errorf("an election: %w", spec.ErrUnavailable)
			}
			return []valuefrom.Value{value("main", "A", "one")}, nil
		}
		got, err := prepare(t, secrets.Source{Pool: pool}, spec.ContainerDefinition{Name: "main", Secrets: []valuefrom.Secret{{Name: "A", ValueFrom: "a"}}})
		if err != nil || len(got.Secrets) != 1 || asked != 5 {
			t.Errorf("%+v, %v, asked %d times", got.Secrets, err, asked)
		}
	})
}

func TestATaskWithoutItsSecretEnds(t *testing.T) {
	pool := func(context.Context, string, []string) ([]valuefrom.Value, error) {
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
		"its output":              {program(`printf 'value of %s for %s in %s\nend\n' "$1" $PINION_TASK $PINION_CLUSTER`), "value of kv/db#password for t in lab\nend", ""},
		"nothing of Pinion's own": {program(`env | grep -c AWS_; true`), "0", ""},
		"that fails":              {program("echo no such path >&2; exit 3"), "", "no such path"},
		"with too much to say":    {program("head -c 100000 /dev/zero"), "", "more than"},
		"that is not there":       {map[string]string{"vault": "/no/such/program"}, "", "no such file"},
		"that the host has not":   {nil, "", "--secret-command vault=PATH"},
		"with one argument":       {program(`[ $# = 1 ] && printf %s "$1"`), "kv/db#password", ""},
		"that leaves a child":     {program("sleep 300 & printf value"), "", "left a process behind"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_SECRET_ACCESS_KEY", "of Pinion")
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

func TestTheOptionsOfALogDriverAreOfItsContainer(t *testing.T) {
	wanted := []valuefrom.Secret{{Name: "splunk-token", ValueFrom: "hec"}}
	source := secrets.Source{Log: slog.New(slog.DiscardHandler), Logs: poolWith(value("side", "splunk-token", "other"), value("main", "splunk-token", "secret"))}
	if got, err := source.LogOptions(t.Context(), "t", "lab", "main", wanted); err != nil || got["splunk-token"] != "secret" || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	source.Logs = poolWith(value("side", "splunk-token", "other"))
	if got, err := source.LogOptions(t.Context(), "t", "lab", "main", wanted); err == nil {
		t.Errorf("an answer without them is %v", got)
	}
	if _, err := source.LogOptions(t.Context(), "t", "lab", "main", []valuefrom.Secret{{Name: "splunk-token", ValueFrom: "pinion:command:vault:x"}}); err == nil || !strings.Contains(err.Error(), "vault") {
		t.Errorf("a program that this host does not have: %v", err)
	}
}

func TestTheCredentialsOfARegistryAreOfItsContainer(t *testing.T) {
	login := &valuefrom.RepositoryCredentials{CredentialsParameter: "hub"}
	definition := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "main", RepositoryCredentials: login}, {Name: "side", RepositoryCredentials: login}}}
	for given, want := range map[string]string{`{"username":"me","password":"secret"}`: "", `{"username":"me"}`: "username", `secret`: "username"} {
		source := secrets.Source{Log: slog.New(slog.DiscardHandler), Logins: poolWith(value("side", "", `{"username":"you","password":"x"}`), value("main", "A", "no login"), value("main", "", given))}
		hooks := source.Hooks(spec.Assignment{Task: &spec.Task{ID: "t"}, Definition: definition})
		if len(hooks) != 1 {
			t.Fatalf("%d hooks", len(hooks))
		}
		got, err := hooks[0].(task.LoginHook).RegistryLogin(t.Context(), &definition.Containers[0])
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret")) || err == nil && got != (runtime.RegistryLogin{Username: "me", Password: "secret"}) {
			t.Errorf("%s: %v", given, err)
		}
		if text := fmt.Sprintf("%v %+v %#v %s", got, got, got, got); strings.Contains(text, "secret") {
			t.Errorf("it is told: %s", text)
		}
	}
	source := secrets.Source{Log: slog.New(slog.DiscardHandler), Logins: poolWith()}
	if _, err := source.Hooks(spec.Assignment{Task: &spec.Task{ID: "t"}, Definition: definition})[0].(task.LoginHook).RegistryLogin(t.Context(), &definition.Containers[0]); err == nil {
		t.Error("an answer without them")
	}
}

// The size of a task's secrets is bounded, whatever the programs of its host print and the pool keeps, and its error says which secret is beyond
// it. Another task has its own.
func TestTheSecretsOfATaskAreBounded(t *testing.T) {
	large := strings.Repeat("x", 60<<10)
	source := secrets.Source{Pool: func(_ context.Context, _ string, containers []string) (all []valuefrom.Value, _ error) {
		for n := range 400 {
			text := large
			if n >= 100 {
				text = "small"
			}
			all = append(all, value(containers[0], fmt.Sprint("S", n), text))
		}
		return all, nil
	}}
	wants := func(from, to int) (all []valuefrom.Secret) {
		for n := from; n < to; n++ {
			all = append(all, valuefrom.Secret{Name: fmt.Sprint("S", n), ValueFrom: "a"})
		}
		return all
	}
	files := map[string]string{label.SecretFiles: "/run/secrets"}
	for name, c := range map[string]struct {
		container spec.ContainerDefinition
		beyond    string // the first secret that is too much
	}{
		"large ones":             {spec.ContainerDefinition{Name: "main", Secrets: wants(0, 17)}, ""},
		"too many large ones":    {spec.ContainerDefinition{Name: "main", Secrets: wants(0, 18)}, "S17"},
		"small variables":        {spec.ContainerDefinition{Name: "main", Secrets: wants(100, 400)}, ""},
		"small files":            {spec.ContainerDefinition{Name: "main", Secrets: wants(100, 356), DockerLabels: files}, ""},
		"too many files":         {spec.ContainerDefinition{Name: "main", Secrets: wants(100, 357), DockerLabels: files}, "S356"},
		"another task afterward": {spec.ContainerDefinition{Name: "main", Secrets: wants(0, 1)}, ""},
	} {
		got, err := prepare(t, source, c.container)
		failed, is := errors.AsType[*task.StartError](err)
		switch {
		case c.beyond == "" && (err != nil || len(got.Secrets) != len(c.container.Secrets)):
			t.Errorf("%s: %v, %d secrets", name, err, len(got.Secrets))
		case c.beyond != "" && (!is || failed.Kind != task.KindResource || !strings.Contains(err.Error(), "task t ") || !strings.Contains(err.Error(), "secret "+c.beyond+" of container main")):
			t.Errorf("%s: %v", name, err)
		}
	}
}
