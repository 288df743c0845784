package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"time"

	"pinion/api"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// manyTasks are paged through.
const manyTasks = 100_000

// book is a state with many tasks, behind the door of a host that is alone. It runs in the bench's own process, so that its
// heap can be looked at; the client's is in it too.
type book struct {
	api.Store // no command comes
	state     *raftfsm.State
}

func (b *book) View(context.Context) (*raftfsm.View, error) { return b.state.View(), nil }
func (b *book) Connected(string) bool                       { return true }

// write fills the book, a thousand tasks at a time.
func (b *book) write() error {
	essential := true
	definition := spec.TaskDefinition{Family: "f", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{Name: "c", Image: "i", Memory: 64, Essential: &essential}}}
	host := spec.Host{ID: "h", Name: "h", Cluster: spec.DefaultCluster, Status: spec.HostActive, CPU: manyTasks, MemoryMiB: 64 * manyTasks, FeatureLevel: raftfsm.FeatureLevel}
	commands := []raftfsm.Command{raftfsm.CreatePool{Pool: spec.Pool{ID: "p"}}, raftfsm.PutHost{Host: host}, raftfsm.RegisterDefinition{Definition: definition}}
	for at := 0; at < manyTasks; at += 1000 {
		launch := raftfsm.Launch{Cluster: spec.DefaultCluster, At: time.Now()}
		for i := range 1000 {
			launch.Tasks = append(launch.Tasks, &spec.Task{
				ID: taskID(at + i), Cluster: spec.DefaultCluster, Definition: "f:1", HostID: host.ID, Group: "family:f", LaunchType: "EC2", MemoryMiB: 64,
				LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, CreatedAt: launch.At,
				Containers: []spec.Container{{ID: fmt.Sprintf("%08x-0000-4000-8000-000000000000", at+i), Name: "c", Image: "i", LastStatus: spec.Pending}},
			})
		}
		commands = append(commands, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{launch}})
	}
	for i, command := range commands {
		if _, err := b.state.Apply(uint64(i+1), command); err != nil {
			return err
		}
	}
	if got := len(b.state.View().Tasks("")); got != manyTasks {
		return fmt.Errorf("%d tasks were recorded, and not %d", got, manyTasks)
	}
	return nil
}

// measurePaging lists and describes many tasks, page by page.
func measurePaging(ctx context.Context, _ options) (figures []figure, err error) {
	b := &book{state: raftfsm.NewState()}
	if err := b.write(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pinion-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	listener, err := net.Listen("unix", filepath.Join(dir, "pinion.sock"))
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: api.NewHandler(api.Config{Store: b, Log: slog.New(slog.DiscardHandler), Trusted: true})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer func() {
		server.Close()
		<-ended
	}()
	runtime.GC()
	before := heapMB()
	begin := time.Now()
	most, err := newClient(dir).pageThrough(ctx)
	if err != nil {
		return nil, err
	}
	return []figure{
		{fmt.Sprintf("ListTasks and DescribeTasks of %d tasks, page by page", manyTasks), fmt.Sprintf("%.1f s", time.Since(begin).Seconds()), "-", "at most 10 s"},
		{"the same: growth of the live heap, the client's with it", fmt.Sprintf("%.0f MB", most-before), fmt.Sprintf("%.0f MB before", before), "at most 100 MB"},
	}, nil
}

// pageThrough describes every task, and answers how large the live heap was at most.
func (c *client) pageThrough(ctx context.Context) (heap float64, err error) {
	seen := 0
	for token := ""; ; {
		var page struct {
			ARNs []string `json:"taskArns"`
			Next string   `json:"nextToken"`
		}
		if err := c.call("ListTasks", object{"nextToken": token}, &page); err != nil {
			return heap, err
		}
		var answer tasks
		if err := c.call("DescribeTasks", object{"tasks": page.ARNs}, &answer); err != nil {
			return heap, err
		}
		seen += len(answer.Tasks)
		heap = max(heap, heapMB())
		if ctx.Err() != nil {
			return heap, context.Cause(ctx)
		}
		if token = page.Next; token == "" {
			break
		}
	}
	if seen != manyTasks {
		return heap, fmt.Errorf("%d tasks were described, and not %d", seen, manyTasks)
	}
	return heap, nil
}

// heapMB is what the last garbage collection left of the heap of this process, in millions of bytes.
func heapMB() float64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return float64(sample[0].Value.Uint64()) / 1e6
}
