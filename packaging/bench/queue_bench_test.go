package main

import (
	"context"
	"flag"
	"runtime"
	"testing"
	"time"

	"pinion/packaging/testbed"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server"
)

var queuedTasks = flag.Int("tasks", 100_000, "how many tasks wait in the queue of BenchmarkQueue")

const (
	// freedGPUs are given back, one after the other, while as many tasks wait.
	freedGPUs = 300
	// silence is longer than hosts are given tasks after their last heartbeat.
	silence = 3 * time.Second
)

// BenchmarkQueue measures the queue on three servers with their logs on the disk: how fast it drains when there are GPUs for all of
// it at once, and how long a freed GPU waits for the next task.
func BenchmarkQueue(b *testing.B) {
	c := newInprocCluster(b, *queuedTasks/8)
	c.define("wait")
	w := &queueWatcher{leader: c.leader()}
	b.Run("drain", func(b *testing.B) {
		once(b)
		c.silent.Store(true) // hosts without heartbeats get no tasks
		testbed.Rest(b.Context(), silence)
		must(b, w.enqueue(b.Context(), *queuedTasks))
		runtime.GC() // as in a process that has waited: two minutes do it
		c.silent.Store(false)
		rate, err := w.drain(b.Context())
		must(b, err)
		b.ReportMetric(rate, "placements/s")
	})
	b.Run("freed-GPU", func(b *testing.B) {
		once(b)
		must(b, w.enqueue(b.Context(), *queuedTasks))
		times, err := w.free(b.Context(), min(freedGPUs, len(w.placed)))
		must(b, err)
		reportPercentiles(b, "", times)
	})
}

// once fails a benchmark that cannot be repeated in a process: all GPUs are taken afterwards.
func once(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	if b.N > 1 {
		b.Fatal("this can be measured once in a process: give -benchtime 1x")
	}
}

func must(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// reportPercentiles reports the median and the 99th percentile; the prefix is empty or ends with a dash.
func reportPercentiles(b *testing.B, prefix string, times []time.Duration) {
	b.ReportMetric(float64(median(times).Nanoseconds()), prefix+"p50-ns")
	b.ReportMetric(float64(percentile(times, 0.99).Nanoseconds()), prefix+"p99-ns")
}

// queueWatcher sends tasks of one GPU through the queue of a pool, and follows the changes.
type queueWatcher struct {
	leader  *server.Member
	seen    raftfsm.Position // of the changes that were seen
	waiting int              // when the first of them was waited for
	placed  []*spec.Task
}

func (w *queueWatcher) enqueue(ctx context.Context, tasks int) error {
	run := spec.RunRequest{Cluster: benchCluster, Definition: "wait:1", Count: min(1000, tasks), CapacityProvider: spec.BuiltinCapacityProvider}
	for ; tasks > 0; tasks -= run.Count {
		if _, err := w.leader.Run(ctx, run); err != nil {
			return err
		}
	}
	return w.follow()
}

// follow begins to see changes.
func (w *queueWatcher) follow() error {
	view, err := w.leader.StaleView()
	if err != nil {
		return err
	}
	w.seen, w.waiting = raftfsm.PositionAfter(view.Index()), 0
	for range view.QueuedTasks("") {
		w.waiting++
	}
	return nil
}

// drain waits until all queued tasks are placed, and returns the rate from the first placement on.
func (w *queueWatcher) drain(ctx context.Context) (rate float64, err error) {
	var begin time.Time
	tasks := w.waiting
	for placed := 0; placed < tasks; {
		n, err := w.next(ctx)
		if err != nil {
			return 0, err
		}
		if begin.IsZero() && n > 0 {
			begin, tasks = time.Now(), tasks-n // those of the first entry took time before
			continue
		}
		placed += n
	}
	return float64(tasks) / time.Since(begin).Seconds(), nil
}

// next waits for changes, and counts the tasks that they gave places.
func (w *queueWatcher) next(ctx context.Context) (placed int, err error) {
	changes, more, err := w.leader.Changes(w.seen, 10_000)
	if err != nil {
		return 0, err
	}
	for _, change := range changes {
		w.seen = change.Position
		if change.Kind == raftfsm.TaskChange && change.Task().LastStatus == spec.Pending {
			w.placed = append(w.placed, change.Task())
			placed++
		}
	}
	if len(changes) > 0 {
		return placed, nil
	}
	select {
	case <-more:
		return 0, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// free ends tasks one by one, and returns the times until another task has the GPU.
func (w *queueWatcher) free(ctx context.Context, tasks int) (times []time.Duration, err error) {
	for _, task := range w.placed[:tasks] {
		begin := time.Now()
		report := spec.TaskReport{TaskID: task.ID, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: begin}}
		if _, err := w.leader.Agent().Report(ctx, task.HostID, []spec.TaskReport{report}); err != nil {
			return nil, err
		}
		for placed := 0; placed == 0; {
			if placed, err = w.next(ctx); err != nil {
				return nil, err
			}
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}
