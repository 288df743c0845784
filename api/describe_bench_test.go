package api

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// BenchmarkDescribeTasks is one signed question about one task, and about as many as ECS allows, without the network: what
// packaging/bench measures through TLS, to look into with a profiler.
func BenchmarkDescribeTasks(b *testing.B) {
	for _, count := range []int{1, 100} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			bench := newFixture(b)
			bench.config.Trusted = false
			question := bench.describing(b, count)
			request := signed(b, "DescribeTasks", question, epoch)
			handler := NewHandler(bench.config)
			b.ReportAllocs()
			for b.Loop() {
				request.Body = io.NopCloser(strings.NewReader(question))
				answer := httptest.NewRecorder()
				handler.ServeHTTP(answer, request)
				if answer.Code != http.StatusOK {
					b.Fatalf("%d %s", answer.Code, answer.Body)
				}
			}
		})
	}
}

// describing records so many tasks, and is the question about them.
func (b *fixture) describing(t testing.TB, count int) string {
	b.mustApply(t, registerCommand(t))
	launch := raftfsm.Launch{Cluster: spec.DefaultCluster, At: epoch}
	var ids []string
	for i := range count {
		task := &spec.Task{
			ID: fmt.Sprintf("%032x", i+1), Cluster: spec.DefaultCluster, Definition: "f:1", HostID: hostID,
			Group: "family:f", LaunchType: "EC2", MemoryMiB: 64, LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, CreatedAt: epoch,
			Containers: []spec.Container{{ID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", i), Name: "c", Image: "i", LastStatus: spec.Pending}},
		}
		launch.Tasks, ids = append(launch.Tasks, task), append(ids, task.ID)
	}
	answer := b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{launch}}).([]raftfsm.LaunchResult)[0]
	if answer.Err != nil || len(answer.Result.Tasks) != count {
		t.Fatalf("%d tasks, %v, %v", len(answer.Result.Tasks), answer.Result.Failures, answer.Err)
	}
	question, err := json.Marshal(map[string]any{"tasks": ids})
	if err != nil {
		t.Fatal(err)
	}
	return string(question)
}
