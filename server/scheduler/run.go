package scheduler

import (
	"context"
	"time"

	"pinion/raftfsm/spec"
)

const (
	// maxBatchRuns is the number of requests that are planned together at most.
	maxBatchRuns = 512
	// concurrentBatches is the number of batches in flight at most: one is planned while others are in the log.
	concurrentBatches = 3
	// maxEntryTasks is the number of tasks of one log entry at most, so that it stays below a megabyte and other commands do not
	// wait long while it is applied. A request is never divided.
	maxEntryTasks = 1000
	// maxPlanAttempts is how often a request is planned that loses its places to other changes.
	maxPlanAttempts = 5
)

// runReply is the answer to one request.
type runReply struct {
	result spec.RunResult
	err    error
}

// Run places and records the tasks of RunTask or StartTask. Concurrent requests are planned together on one view and recorded
// in one entry. Tasks without a place come back as failures; after an error nothing of the request is recorded, unless it is
// spec.ErrOutcomeUnknown. With a capacity provider the tasks are recorded as pending instead.
func (s *Scheduler) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	batcher := &s.runs
	if r.CapacityProvider != "" {
		batcher = &s.enqueues
	}
	r.Signatures = spec.SignaturesOf(ctx)
	begun := time.Now()
	reply, err := batcher.Do(ctx, r)
	if err != nil {
		return spec.RunResult{}, err
	}
	if r.CapacityProvider == "" && len(reply.result.Tasks) > 0 {
		s.Placements.WithLabelValues(byRequest).Observe(time.Since(begun).Seconds())
	}
	return reply.result, reply.err
}

// batchedRun is one request of a batch.
type batchedRun struct {
	request   spec.RunRequest
	reply     runReply
	conflicts int // attempts that lost the places to other changes
}

// runBatch answers a batch of requests. Each attempt plans the open ones on the newest view and records them in one entry. A
// request stays open when another change took its places, when an earlier request with the same client token must be
// answered first, or when the entry is full.
func (s *Scheduler) runBatch(requests []spec.RunRequest) []runReply {
	open := make([]*batchedRun, len(requests))
	for i, r := range requests {
		open[i] = &batchedRun{request: r}
	}
	all := open
	for len(open) > 0 {
		open = s.planPass(open)
	}
	replies := make([]runReply, len(all))
	for i, l := range all {
		replies[i] = l.reply
	}
	return replies
}

// planPass answers what it can, and returns the runs that are still open.
func (s *Scheduler) planPass(open []*batchedRun) (again []*batchedRun) {
	t, err := s.writableTerm(context.Background())
	if err != nil {
		failAll(open, err)
		return nil
	}
	return s.plan(t, open).record()
}

// plan chooses places for the open runs.
func (s *Scheduler) plan(t *term, open []*batchedRun) *planPass {
	planning := t.planner.begin()
	a := &planPass{node: s.node, term: t, log: s.log, at: s.node.Now(), concurrent: planning.concurrent(), failuresBefore: planning.failed}
	requests := a.prepare(planning.view, open)
	a.decide(planning.hosts.Plan(requests))
	a.plan = planning.commit(a.tasks(), a.clientTokens())
	return a
}

func failAll(runs []*batchedRun, err error) {
	for _, l := range runs {
		l.reply = runReply{err: err}
	}
}

// retry counts a conflict of the runs, and returns those that may be planned again. The others get the error, or keep the
// reply that they have when it is nil.
func retry(runs []*batchedRun, err error) (again []*batchedRun) {
	for _, l := range runs {
		if l.conflicts++; l.conflicts < maxPlanAttempts {
			again = append(again, l)
		} else if err != nil {
			l.reply = runReply{err: err}
		}
	}
	return again
}
