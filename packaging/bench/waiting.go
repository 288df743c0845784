package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server"
)

const (
	// queueTasks wait in the queue, each for one GPU.
	queueTasks = 100_000
	// queueHosts have as many GPUs as tasks wait.
	queueHosts = queueTasks / 8
	// freedGPUs are given back, one after the other, while as many tasks wait.
	freedGPUs = 300
	// notHeard is longer than hosts are given tasks after they were heard of last.
	notHeard = 3 * time.Second
)

// measureWaiting measures the queue: how fast it drains when there is room for all of it at once, and how long a freed GPU
// waits for the next task, on three servers with their logs on the disk.
func measureWaiting(ctx context.Context, _ options) (figures []figure, err error) {
	reference, err := bareRate()
	if err != nil {
		return nil, err
	}
	t, err := startTrio(ctx, queueHosts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	w := &waiters{leader: t.leader()}
	if err := w.define(ctx); err != nil {
		return nil, err
	}
	t.silent.Store(true) // hosts that are not heard of get no tasks
	select {
	case <-time.After(notHeard):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := w.enqueue(ctx, queueTasks); err != nil {
		return nil, err
	}
	runtime.GC() // as in a process that has waited: two minutes do it
	t.silent.Store(false)
	rate, err := w.drain(ctx)
	if err != nil {
		return nil, err
	}
	figures = append(figures, figure{"durable placements a second, draining 100000 waiting tasks", fmt.Sprintf("%.0f", rate), reference, "at least 30000"})
	if err := w.enqueue(ctx, queueTasks); err != nil {
		return figures, err
	}
	times, err := w.free(ctx, freedGPUs)
	if err != nil {
		return figures, err
	}
	return append(figures, figure{"freed GPU to the next placement, 100000 wait, p50 (p99)",
		ms(median(times)) + " (" + ms(percentile(times, 0.99)) + ")", "-", "p99 at most 100 ms"}), nil
}

// waiters are tasks of one GPU that go through the queue of a pool.
type waiters struct {
	leader  *server.Member
	mark    raftfsm.Position // of the changes that were seen
	waiting int              // when the first of them was waited for
	placed  []*spec.Task
}

func (w *waiters) define(ctx context.Context) error {
	definition := spec.TaskDefinition{Family: "wait", Status: spec.DefinitionActive, Containers: []spec.ContainerDefinition{{
		Name: "main", Image: "pinion/self", CPU: 1024, Memory: 1024,
		ResourceRequirements: []spec.ResourceRequirement{{Type: "GPU", Value: "1"}},
	}}}
	_, err := w.leader.Propose(ctx, raftfsm.RegisterDefinition{Definition: definition})
	return err
}

func (w *waiters) enqueue(ctx context.Context, tasks int) error {
	run := spec.RunRequest{Cluster: trioCluster, Definition: "wait:1", Count: 1000, CapacityProvider: spec.BuiltinCapacityProvider}
	for ; tasks > 0; tasks -= run.Count {
		if _, err := w.leader.Run(ctx, run); err != nil {
			return err
		}
	}
	return w.look()
}

// look begins to see changes.
func (w *waiters) look() error {
	view, err := w.leader.StaleView()
	if err != nil {
		return err
	}
	w.mark, w.waiting = raftfsm.PositionAfter(view.Index()), 0
	for range view.QueuedTasks("") {
		w.waiting++
	}
	return nil
}

// drain sees all that wait get their places, and says how many did in a second from the first one on.
func (w *waiters) drain(ctx context.Context) (rate float64, err error) {
	var begin time.Time
	tasks := w.waiting
	for placed := 0; placed < tasks; {
		n, err := w.see(ctx)
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

// see waits for changes, and counts the tasks that they gave places.
func (w *waiters) see(ctx context.Context) (placed int, err error) {
	changes, more, err := w.leader.Changes(w.mark, 10_000)
	if err != nil {
		return 0, err
	}
	for _, change := range changes {
		w.mark = change.Position
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

// free ends tasks one by one, and says how long it took until another one had the GPU.
func (w *waiters) free(ctx context.Context, tasks int) (times []time.Duration, err error) {
	for _, task := range w.placed[:tasks] {
		begin := time.Now()
		report := spec.TaskReport{TaskID: task.ID, Status: spec.Stopped, Times: spec.TaskTimes{Stopped: begin}}
		if _, err := w.leader.Report(ctx, task.HostID, []spec.TaskReport{report}); err != nil {
			return nil, err
		}
		for placed := 0; placed == 0; {
			if placed, err = w.see(ctx); err != nil {
				return nil, err
			}
		}
		times = append(times, time.Since(begin))
	}
	return times, nil
}
