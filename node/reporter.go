package node

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/node/backoff"
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
	pending map[string]*pendingReport
	queue   []string // task ids in waiting, oldest first
	wake    chan struct{}
}

// pendingReport is a report on its way, and those who want to know when it was heard.
type pendingReport struct {
	report spec.TaskReport
	acked  []chan struct{}
}

func newReporter(log *slog.Logger, send func(context.Context, []spec.TaskReport) error) *reporter {
	return &reporter{log: log, send: send, pending: map[string]*pendingReport{}, wake: make(chan struct{}, 1)}
}

// Enqueue queues the latest report of a task. The channel is closed when this report, or a later one of the task, has
// been recorded by the cluster.
func (r *reporter) Enqueue(report spec.TaskReport) <-chan struct{} {
	acked := make(chan struct{})
	r.mu.Lock()
	e, ok := r.pending[report.TaskID]
	if !ok {
		e = &pendingReport{}
		r.pending[report.TaskID] = e
		r.queue = append(r.queue, report.TaskID)
	}
	e.report = report
	e.acked = append(e.acked, acked)
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return acked
}

// Discard forgets what waits of a task, when the cluster does not want to hear of it any more.
func (r *reporter) Discard(taskID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.dequeue(taskID); e != nil {
		e.notify()
	}
}

// run sends until ctx ends. While one batch is under way the next one gathers.
func (r *reporter) run(ctx context.Context) {
	for {
		batch := r.nextBatch()
		if len(batch) == 0 {
			select {
			case <-r.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := backoff.Retry(ctx, r.log, "report to the cluster", func(ctx context.Context) error {
			call, cancel := context.WithTimeout(ctx, callTimeout)
			defer cancel()
			return r.send(call, r.mergeNewer(batch))
		})
		if err != nil {
			return
		}
		for _, e := range batch {
			e.notify()
		}
	}
}

// nextBatch removes the oldest entries from the queue.
func (r *reporter) nextBatch() []*pendingReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), reportBatch)
	batch := make([]*pendingReport, 0, n)
	for _, id := range r.queue[:n] {
		batch = append(batch, r.pending[id])
		delete(r.pending, id)
	}
	r.queue = r.queue[n:]
	return batch
}

// mergeNewer is the batch with what has come in since: a call that is repeated says the latest.
func (r *reporter) mergeNewer(batch []*pendingReport) []spec.TaskReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	reports := make([]spec.TaskReport, 0, len(batch))
	for _, e := range batch {
		if newer := r.dequeue(e.report.TaskID); newer != nil {
			e.report = newer.report
			e.acked = append(e.acked, newer.acked...)
		}
		reports = append(reports, e.report)
	}
	return reports
}

// dequeue takes what waits of a task out of the queue; nil when nothing does. Called with the lock held.
func (r *reporter) dequeue(taskID string) *pendingReport {
	e, ok := r.pending[taskID]
	if !ok {
		return nil
	}
	delete(r.pending, taskID)
	r.queue = slices.DeleteFunc(r.queue, func(id string) bool { return id == taskID })
	return e
}

func (e *pendingReport) notify() {
	for _, c := range e.acked {
		close(c)
	}
	e.acked = nil
}
