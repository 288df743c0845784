package logforward

import (
	"log/slog"
	"strings"
	"testing"

	"pinion/node/logs"
	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// A name that is too long for a file has one forwarder, also after a restart of the agent, which asks for secrets by the name itself.
func TestAContainerWithALongName(t *testing.T) {
	name := strings.Repeat("n", 255)
	c, url, allowed := newEventCollector(t)
	w := newLogOf(t, logs.ForwardedLogOf(of.Task, name))
	w.secrets = poolOf(name)
	config := splunkTokenOf(url)
	runner := task.New(task.Config{Log: slog.New(slog.DiscardHandler), Dir: t.TempDir()}, spec.Assignment{
		Task:       &spec.Task{ID: of.Task, Cluster: "lab"},
		Definition: &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: name, LogConfiguration: &config}}},
	}, nil)
	run := func() *Forwarders {
		f := w.forwarders(allowed)
		h := &hook{all: f, taskID: of.Task}
		h.Reattach(t.Context(), task.ContainersOf(runner)[0])
		if len(f.running) != 1 {
			t.Errorf("%d forwarders of one container", len(f.running))
		}
		return f
	}
	f := run()
	w.add(5, "line ")
	eventually(t, "the lines", w.sent)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	w.add(5, "line ")
	w.end()
	run().markEnded(of.Task)
	eventually(t, "the end", func() bool { return !w.noted() })
	if c.count() != 10 {
		t.Errorf("%d lines of 10", c.count())
	}
}
