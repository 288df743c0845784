package metadata

import (
	"encoding/json"
	"log/slog"
	"testing"

	"pinion/node/task"
	"pinion/raftfsm/spec"
)

// The count of restarts is a member of containers with a restart policy alone, from 0 on; the end is one of those that have ended.
func TestADocumentTellsOfTheRunsOfAContainer(t *testing.T) {
	runner := task.New(task.Config{Log: slog.New(slog.DiscardHandler), Dir: t.TempDir()}, spec.Assignment{
		Task: &spec.Task{ID: "t", Cluster: "lab", Group: "family:train"},
		Definition: &spec.TaskDefinition{Containers: []spec.ContainerDefinition{
			{Name: "again", RestartPolicy: &spec.RestartPolicy{Enabled: true}}, {Name: "off", RestartPolicy: &spec.RestartPolicy{}}, {Name: "once"},
		}},
	}, nil)
	c := &container{of: task.ContainersOf(runner)[0], service: New(Config{Log: slog.New(slog.DiscardHandler)})}
	text, err := json.Marshal(c.describeTask())
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Group      string
		Containers []map[string]any
	}
	if err := json.Unmarshal(text, &document); err != nil || document.Group != "family:train" {
		t.Fatal(document, err)
	}
	for i, want := range []any{0.0, nil, nil} {
		if of := document.Containers[i]; of["RestartCount"] != want || of["FinishedAt"] != nil {
			t.Errorf("%v", of)
		}
	}
}

// BenchmarkTask is a document of a task of one container, without the connection.
func BenchmarkTask(b *testing.B) {
	runner := task.New(task.Config{Log: slog.New(slog.DiscardHandler), Dir: b.TempDir()}, spec.Assignment{
		Task: &spec.Task{ID: "t", Cluster: "lab"}, Definition: &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "main"}}},
	}, nil)
	c := &container{of: task.ContainersOf(runner)[0], service: New(Config{Log: slog.New(slog.DiscardHandler)})}
	for b.Loop() {
		if _, err := json.Marshal(c.describeTask()); err != nil {
			b.Fatal(err)
		}
	}
}
