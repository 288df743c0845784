package logforward

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/valuefrom"
)

// splunkTokenOf is a configuration whose token is a secret.
func splunkTokenOf(url string) logdriver.Configuration {
	return logdriver.Configuration{LogDriver: logdriver.Splunk, Options: map[string]string{"splunk-url": url}, SecretOptions: []valuefrom.Secret{{Name: "splunk-token", ValueFrom: "hec"}}}
}

// pool answers with the token of the tests.
var pool = poolOf(of.Container)

// poolOf is pool for a container of this name.
func poolOf(name string) func(context.Context, string, string, string, []valuefrom.Secret) (map[string]string, error) {
	return func(_ context.Context, task, cluster, container string, wanted []valuefrom.Secret) (map[string]string, error) {
		if task != of.Task || cluster != "lab" || container != name || len(wanted) != 1 || wanted[0].ValueFrom != "hec" {
			return nil, fmt.Errorf("asked for %v of container %s of task %s", wanted, container, task)
		}
		return map[string]string{"splunk-token": "hunter2"}, nil
	}
}

// The next run of the agent asks the pool for the token again: no file beside the log has it.
func TestASecretOptionIsOnNoDisk(t *testing.T) {
	c, url, allowed := newEventCollector(t)
	w := newLog(t)
	w.secrets = pool
	f := w.forwardWith(splunkTokenOf(url), allowed)
	w.add(5, "line ")
	eventually(t, "the lines", w.sent)
	files, err := filepath.Glob(filepath.Join(filepath.Dir(w.path()), "*"))
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	w.add(5, "line ")
	w.end()
	w.forwarders(allowed)
	eventually(t, "the end", func() bool { return !w.noted() })
	if c.count() != 10 {
		t.Errorf("%d lines of 10", c.count())
	}
}

// A log waits for the secrets of its driver while the pool does not answer, and is given up when its container has ended and the pool says that there are none.
func TestALogWhoseSecretsAreMissing(t *testing.T) {
	c, url, allowed := newEventCollector(t)
	unreachable, missing := errors.New("an election"), fmt.Errorf("no such secret: %w", valuefrom.ErrUnresolved)
	var answers atomic.Pointer[error]
	answers.Store(&unreachable)
	w := newLog(t)
	w.secrets = func(context.Context, string, string, string, []valuefrom.Secret) (map[string]string, error) {
		return map[string]string{"splunk-token": "hunter2"}, *answers.Load()
	}
	w.add(5, "line ")
	f := w.forwardWith(splunkTokenOf(url), allowed)
	eventually(t, "the failure", func() bool { return strings.Contains(w.said(), "an election") })
	answers.Store(&missing)
	f.markEnded(of.Task)
	eventually(t, "the end", func() bool { return !w.noted() && strings.Contains(w.said(), "what is left of the log is not sent") })
	if c.count() != 0 {
		t.Errorf("%d lines", c.count())
	}
}

// A task starts with the secrets of its log driver, or not at all. A container that is restarted gets those of that moment.
func TestATaskStartsWithTheSecretsOfItsLogDriver(t *testing.T) {
	config := splunkTokenOf("https://splunk:8088")
	definition := &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: of.Container, LogConfiguration: &config}}}
	starts := []*task.Start{{Spec: runtime.ContainerSpec{Def: &definition.Containers[0]}}}
	h := &hook{all: &Forwarders{config: Config{Secrets: pool, Log: slog.New(slog.DiscardHandler)}}, taskID: of.Task, cluster: "lab", secrets: map[string]map[string]string{}}
	if err := h.Prestart(t.Context(), starts); err != nil || h.taken(of.Container)["splunk-token"] != "hunter2" || h.taken(of.Container) != nil {
		t.Errorf("%v, or the hook keeps them", err)
	}
	h.all.config.Secrets = func(context.Context, string, string, string, []valuefrom.Secret) (map[string]string, error) {
		return nil, fmt.Errorf("hec: %w", valuefrom.ErrUnresolved)
	}
	wrong, is := errors.AsType[*task.StartError](h.Prestart(t.Context(), starts))
	if !is || wrong.Kind != "ResourceInitializationError" || !strings.Contains(wrong.Error(), "hec") {
		t.Errorf("%v", wrong)
	}
}
