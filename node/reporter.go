package node

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
)

const (
	// reportBatch bounds one call, so that a host with many tasks stays far below the size of one log entry.
	reportBatch = 200
	// callTimeout bounds calls to the pool that are answered at once.
	callTimeout = 15 * time.Second
)

// reporter sends task reports to the pool: the latest of each task, not the history, repeated until recorded. Runners
// enqueue their reports and do not wait.
//
// A newer report replaces the queued one of its task and keeps its position, so tasks are reported in the order of their
// oldest unsent change.
type reporter struct {
	log  *slog.Logger
	send func(context.Context, []spec.TaskReport) error

	mu      sync.Mutex
	pending map[string]*pendingReport
	queue   []string // task ids in waiting, oldest first
	wake    chan struct{}
}

// pendingReport is a queued report and the channels to close when it is recorded.
type pendingReport struct {
	report spec.TaskReport
	acked  []chan struct{}
}

func newReporter(log *slog.Logger, send func(context.Context, []spec.TaskReport) error) *reporter {
	return &reporter{log: log, send: send, pending: map[string]*pendingReport{}, wake: make(chan struct{}, 1)}
}

// Enqueue queues the latest report of a task. The channel is closed when this report, or a later one of the task, has
// been recorded by the pool.
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

// Discard drops the queued report of a task that the pool does not assign to this host any more.
func (r *reporter) Discard(taskID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.dequeue(taskID); e != nil {
		e.notify()
	}
}

// run sends until ctx ends. Reports that come in while one batch is sent form the next one.
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
			failpoint.Reached(failpoint.ReportSending)
			return r.send(call, r.mergeNewer(batch))
		})
		if err != nil {
			return
		}
		failpoint.Reached(failpoint.ReportSent)
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

// mergeNewer replaces the batch's reports by newer queued ones: a repeated call sends the latest.
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

// dequeue removes a task's report from the queue; nil when there is none. Called with the lock held.
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
