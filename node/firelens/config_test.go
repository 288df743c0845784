package firelens

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/firelens"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

var rewrite = flag.Bool("rewrite", false, "write the files in testdata anew")

// routed is a task with a router and two containers whose lines it gets, of which the second has a secret.
func routed(kind, networkMode string, routerOptions map[string]string) *hook {
	config := &firelens.Configuration{Type: kind, Options: routerOptions}
	plugin := config.OutputOption()
	definition := &spec.TaskDefinition{NetworkMode: networkMode, Containers: []spec.ContainerDefinition{
		{Name: "router", FirelensConfiguration: config, LogConfiguration: &logdriver.Configuration{LogDriver: logdriver.JSONFile}},
		{Name: "web", LogConfiguration: &logdriver.Configuration{LogDriver: logdriver.Firelens, Options: map[string]string{
			plugin: "http", "host": "logs.example.com", "port": "443", firelens.IncludePattern: "^(ERROR|WARN)", firelens.ExcludePattern: "health", firelens.BufferLimit: "1000",
		}, SecretOptions: []valuefrom.Secret{{Name: "http_passwd", ValueFrom: "logs"}}}},
		{Name: "side", LogConfiguration: &logdriver.Configuration{LogDriver: logdriver.Firelens}},
		{Name: "alone"},
	}}
	pool := func(_ context.Context, _, _, container string, _ []valuefrom.Secret) (map[string]string, error) {
		return map[string]string{"http_passwd": "hunter2 of " + container}, nil
	}
	return &hook{
		config: Config{Region: "us-east-1", Secrets: pool, Log: slog.New(slog.DiscardHandler)},
		task:   &spec.Task{ID: "0123456789abcdef0123456789abcdef", Cluster: "lab", Definition: "web:3"}, definition: definition,
	}
}

// The configurations are those of Amazon's agent.
func TestTheConfigurationOfARouter(t *testing.T) {
	file := map[string]string{"config-file-type": "file", "config-file-value": "/extra.conf"}
	for name, h := range map[string]*hook{
		"fluentbit-bridge": routed(firelens.FluentBit, "", file), "fluentbit-awsvpc": routed(firelens.FluentBit, "awsvpc", nil), "fluentbit-host": routed(firelens.FluentBit, "host", map[string]string{"enable-ecs-log-metadata": "false"}),
		"fluentd-bridge": routed(firelens.Fluentd, "bridge", file), "fluentd-awsvpc": routed(firelens.Fluentd, "awsvpc", nil), "fluentd-host": routed(firelens.Fluentd, "host", map[string]string{"enable-ecs-log-metadata": "false"}),
	} {
		got := h.router(h.definition.Containers[0].FirelensConfiguration).text()
		path := filepath.Join("testdata", name+".conf")
		if *rewrite {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(path); err != nil || string(want) != got {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
}

// start runs the hook for a container of the task.
func start(t *testing.T, h *hook, at int, dir, router string) *task.Start {
	t.Helper()
	def := h.definition.Containers[at]
	s := &task.Start{Dir: dir, Router: router, Container: &task.Container{Def: &def}, Spec: runtime.ContainerSpec{Def: &def, Volumes: map[string]runtime.Volume{}}}
	if err := h.Prestart(t.Context(), []*task.Start{s}); err != nil {
		t.Fatal(err)
	}
	if err := h.BuildSpec(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// The router has its configuration and the directory of its socket, and the values of secrets in its environment alone.
func TestARouterIsGivenWhatItNeeds(t *testing.T) {
	for kind, path := range map[string]string{firelens.FluentBit: "/fluent-bit/etc/fluent-bit.conf", firelens.Fluentd: "/fluentd/etc/fluent.conf"} {
		h, dir := routed(kind, "bridge", nil), t.TempDir()
		s := start(t, h, 0, dir, "")
		text, err := os.ReadFile(s.Spec.OwnFiles[path])
		if err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), "http_passwd_1") {
			t.Errorf("%v\n%s", err, text)
		}
		if want := []runtime.Secret{{Name: "http_passwd_1", Value: "hunter2 of web"}}; !slices.Equal(s.Spec.Secrets, want) {
			t.Errorf("%v", s.Spec.Secrets)
		}
		mounts := s.Spec.Def.MountPoints
		if len(mounts) != 1 || mounts[0].ContainerPath != "/var/run" || mounts[0].ReadOnly || s.Spec.Volumes[mounts[0].SourceVolume].Path != socketDir(dir) {
			t.Errorf("%+v of %+v", mounts, s.Spec.Volumes)
		}
		if len(h.definition.Containers[0].MountPoints) != 0 {
			t.Error("the definition of the task is changed")
		}
	}
}

func TestAContainerIsToldWhereItsRouterIs(t *testing.T) {
	h := routed(firelens.FluentBit, "bridge", nil)
	if s := start(t, h, 1, t.TempDir(), "10.0.0.7"); !slices.Contains(s.Spec.Env, "FLUENT_HOST=10.0.0.7") || !slices.Contains(s.Spec.Env, "FLUENT_PORT=24224") || len(s.Spec.Secrets)+len(s.Spec.OwnFiles) != 0 {
		t.Errorf("%+v", s.Spec)
	}
	if s := start(t, h, 3, t.TempDir(), ""); len(s.Spec.Env) != 0 {
		t.Errorf("%v", s.Spec.Env)
	}
}

// The files that a router has left in its directory are gone when it starts again, and nothing that its links led to.
func TestARouterStartsWithAnEmptyDirectory(t *testing.T) {
	h, dir, elsewhere := routed(firelens.FluentBit, "bridge", nil), t.TempDir(), t.TempDir()
	start(t, h, 0, dir, "")
	kept := filepath.Join(elsewhere, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(socketDir(dir), "link")); err != nil {
		t.Fatal(err)
	}
	start(t, h, 0, dir, "")
	left, err := os.ReadDir(socketDir(dir))
	if _, kept := os.Stat(kept); err != nil || len(left) != 0 || kept != nil {
		t.Errorf("%v, %v, %v", left, err, kept)
	}
}
