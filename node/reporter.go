package node

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/raftfsm/spec"
)

const (
	// reportBatch bounds one call, so that a host with many tasks stays far below the size of one log entry.
	reportBatch = 200
	// callTimeout is for calls to the cluster that should answer at once.
	callTimeout = 15 * time.Second
)

// reporter tells the cluster what the tasks of this host have come to: the latest of each task, not the history,
// retried until heard. Runners put their reports in and never wait for it.
//
// A task keeps its place in the queue while newer reports replace what waits there, so tasks are heard in the order in
// which they first had something to say.
type reporter struct {
	log  *slog.Logger
	send func(context.Context, []spec.TaskReport) error

	mu      sync.Mutex
	waiting map[string]*entry
	queue   []string // task ids in waiting, oldest first
	wake    chan struct{}
}

// entry is a report on its way, and those who want to know when it was heard.
type entry struct {
	report spec.TaskReport
	heard  []chan struct{}
}

func newReporter(log *slog.Logger, send func(context.Context, []spec.TaskReport) error) *reporter {
	return &reporter{log: log, send: send, waiting: map[string]*entry{}, wake: make(chan struct{}, 1)}
}

// put queues the latest report of a task. The channel is closed when this report, or a later one of the task, has
// been recorded by the cluster.
func (r *reporter) put(report spec.TaskReport) <-chan struct{} {
	heard := make(chan struct{})
	r.mu.Lock()
	e, ok := r.waiting[report.TaskID]
	if !ok {
		e = &entry{}
		r.waiting[report.TaskID] = e
		r.queue = append(r.queue, report.TaskID)
	}
	e.report = report
	e.heard = append(e.heard, heard)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return heard
}

// drop forgets what waits of a task, when the cluster does not want to hear of it any more.
func (r *reporter) drop(taskID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.remove(taskID); e != nil {
		e.tell()
	}
}

// run sends until ctx ends. While one batch is under way the next one gathers.
func (r *reporter) run(ctx context.Context) {
	for {
		batch := r.take()
		if len(batch) == 0 {
			select {
			case <-r.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := retry(ctx, r.log, "report to the cluster", func(ctx context.Context) error {
			call, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return r.send(call, r.refresh(batch))
		})
		if err != nil {
			return
		}
		for _, e := range batch {
			e.tell()
		}
	}
}

// take removes the oldest entries from the queue.
func (r *reporter) take() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), reportBatch)
	batch := make([]*entry, 0, n)
	for _, id := range r.queue[:n] {
		batch = append(batch, r.waiting[id])
		delete(r.waiting, id)
	}
	r.queue = r.queue[n:]
	return batch
}

// refresh is the batch with what has come in since: a call that is repeated says the latest.
func (r *reporter) refresh(batch []*entry) []spec.TaskReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	reports := make([]spec.TaskReport, 0, len(batch))
	for _, e := range batch {
		if newer := r.remove(e.report.TaskID); newer != nil {
			e.report = newer.report
			e.heard = append(e.heard, newer.heard...)
		}
		reports = append(reports, e.report)
	}
	return reports
}

// remove takes what waits of a task out of the queue; nil when nothing does. Called with the lock held.
func (r *reporter) remove(taskID string) *entry {
	e, ok := r.waiting[taskID]
	if !ok {
		return nil
	}
	delete(r.waiting, taskID)
	r.queue = slices.DeleteFunc(r.queue, func(id string) bool { return id == taskID })
	return e
}

func (e *entry) tell() {
	for _, c := range e.heard {
		close(c)
	}
	e.heard = nil
}
