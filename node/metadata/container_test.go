package metadata

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http/httptest"
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

// A task that runs is tagged anew, and its containers read the tags of now.
func TestADocumentHasTheTagsOfNow(t *testing.T) {
	assigned := &spec.Task{ID: "t", Cluster: "lab", Tags: []spec.Tag{{Key: "team", Value: "vision"}, {Key: "stage", Value: "one"}}}
	runner := task.New(task.Config{Log: slog.New(slog.DiscardHandler), Dir: t.TempDir()}, spec.Assignment{
		Task: assigned, Definition: &spec.TaskDefinition{Containers: []spec.ContainerDefinition{{Name: "main"}}},
	}, nil)
	c := &container{of: task.ContainersOf(runner)[0], service: New(Config{Log: slog.New(slog.DiscardHandler)})}
	ask := func() map[string]string {
		answer := httptest.NewRecorder()
		c.taskWithTags(answer, httptest.NewRequest("GET", "/", nil))
		var document struct{ TaskTags map[string]string }
		if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil {
			t.Fatal(err)
		}
		return document.TaskTags
	}
	if tags := ask(); !maps.Equal(tags, map[string]string{"team": "vision", "stage": "one"}) {
		t.Errorf("at first: %v", tags)
	}
	tagged := *assigned
	tagged.Tags = []spec.Tag{{Key: "stage", Value: "two"}}
	runner.Update(&tagged)
	if tags := ask(); !maps.Equal(tags, map[string]string{"stage": "two"}) {
		t.Errorf("after TagResource and UntagResource: %v", tags)
	}
	tagged.Tags = nil
	runner.Update(&tagged)
	if tags := ask(); len(tags) > 0 {
		t.Errorf("without tags: %v", tags)
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
