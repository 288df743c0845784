package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// pagedTasks are paged through.
const pagedTasks = 100_000

// BenchmarkPageThrough lists and describes many tasks, page by page. The client is in the same process, so its part of the heap
// is counted.
func BenchmarkPageThrough(b *testing.B) {
	f := newFixture(b)
	f.recordTasks(b, pagedTasks)
	server := httptest.NewServer(NewHandler(f.config))
	defer server.Close()
	for b.Loop() {
		runtime.GC()
		before := liveHeap()
		most := pageThrough(b, server.URL)
		b.ReportMetric(before, "heap-before-B")
		b.ReportMetric(most-before, "heap-growth-B")
	}
}

// recordTasks records so many tasks, a thousand at a time. How their ids begin decides how the trees of the state are laid out,
// so they begin as a server's: with a clock, and with digits that are scattered.
func (b *fixture) recordTasks(t testing.TB, count int) {
	b.mustApply(t, registerCommand(t))
	for first := 0; first < count; first += 1000 {
		launch := raftfsm.Launch{Cluster: spec.DefaultCluster, At: epoch}
		for n := first; n < first+1000; n++ {
			chance := rand.NewPCG(2, uint64(n))
			id := fmt.Sprintf("%04x%04x%08x%016x", uint16(n/2000), uint16(n*40503), uint32(chance.Uint64()), chance.Uint64())
			launch.Tasks = append(launch.Tasks, &spec.Task{
				ID: id, Cluster: spec.DefaultCluster, Definition: "f:1", HostID: hostID, Group: "family:f", LaunchType: "EC2",
				LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, CreatedAt: epoch,
				Containers: []spec.Container{{ID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", n), Name: "c", Image: "i", LastStatus: spec.Pending}},
			})
		}
		answer := b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{launch}}).([]raftfsm.LaunchResult)[0]
		if answer.Err != nil || len(answer.Result.Tasks) != 1000 {
			t.Fatalf("%d tasks, %v, %v", len(answer.Result.Tasks), answer.Result.Failures, answer.Err)
		}
	}
}

// pageThrough describes every task, and answers how large the live heap was at most.
func pageThrough(b *testing.B, url string) (most float64) {
	b.Helper()
	seen := 0
	for token := ""; ; {
		var page struct {
			ARNs []string `json:"taskArns"`
			Next string   `json:"nextToken"`
		}
		postJSON(b, url+"/v1/ListTasks", map[string]any{"nextToken": token}, &page)
		var described struct {
			Tasks []json.RawMessage `json:"tasks"`
		}
		postJSON(b, url+"/v1/DescribeTasks", map[string]any{"tasks": page.ARNs}, &described)
		seen += len(described.Tasks)
		most = max(most, liveHeap())
		if token = page.Next; token == "" {
			break
		}
	}
	if seen != pagedTasks {
		b.Fatalf("%d tasks were described, and not %d", seen, pagedTasks)
	}
	return most
}

func postJSON(b *testing.B, url string, in, out any) {
	b.Helper()
	body, err := json.Marshal(in)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := http.Post(url, "application/json", bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(out); err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("%s: %d, %v", url, answer.StatusCode, err)
	}
}

// liveHeap is what the last garbage collection left of this process's heap.
func liveHeap() float64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64())
}
