package server

import (
	"context"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

const (
	// maxBatchRuns is how many runs are planned together at most.
	maxBatchRuns = 512
	// concurrentBatches is how many batches are under way at a time: one is planned while others are being recorded.
	concurrentBatches = 3
	// maxEntryTasks is how many tasks one entry has at most; a run is never divided. An entry stays below a megabyte, and others
	// do not wait long while it is applied.
	maxEntryTasks = 1000
	// maxPlanAttempts is how often a run is planned again after it lost its places to another change.
	maxPlanAttempts = 5
)

// runReply is the answer to one run.
type runReply struct {
	result spec.RunResult
	err    error
}

// Run places and records tasks: RunTask and StartTask. Requests that arrive while others are being recorded are planned
// together on one view and recorded in one entry. What cannot be placed comes back as failures; an error means that
// nothing of the run was recorded, unless it is ErrOutcomeUnknown.
func (s *Server) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	if err := s.acquire(); err != nil {
		return spec.RunResult{}, err
	}
	defer s.drain.release()
	if r.CapacityProvider != "" {
		return s.enqueue(ctx, r)
	}
	answer, err := s.runBatches.Do(ctx, r)
	if err != nil {
		return spec.RunResult{}, err
	}
	return answer.result, answer.err
}

// launchRuns answers a batch of runs. Each round plans runs that are open on the newest view and records them in one entry. A
// run stays open when another change took its places, when a run before it carries the same client token and has to be
// answered first, or when the entry has no room for it.
func (s *Server) launchRuns(runs []spec.RunRequest) []runReply {
	b := &launchBatch{Server: s, runs: runs, answers: make([]runReply, len(runs)), conflicts: make([]int, len(runs))}
	open := make([]int, len(runs))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		open = b.attempt(open)
	}
	return b.answers
}

// launchBatch is the state of one place call; runs, answers and lost go together by index.
type launchBatch struct {
	*Server
	runs      []spec.RunRequest
	answers   []runReply
	conflicts []int // races lost so far
}

// attempt settles what it can and returns the runs that are still open.
func (b *launchBatch) attempt(open []int) []int {
	t, err := b.requireLeader()
	if full := b.diskError(); full != nil {
		err = full
	}
	if err != nil {
		return b.failAll(open, err)
	}
	return b.commitPlan(t, b.plan(t.planner, open))
}

// commitPlan records what the plan gave places to, and answers its runs; it returns those that are still open.
func (b *launchBatch) commitPlan(t *leaderTerm, p *runPlan) []int {
	var (
		entry    raftfsm.LaunchTasks
		recorded []int
	)
	for i, run := range p.runs {
		d := p.decisions[i]
		switch {
		case len(d.Tasks) > 0:
			entry.Runs = append(entry.Runs, newLaunch(b.runs[run], d, p.at))
			recorded = append(recorded, run)
		case d.Err != nil:
			b.answers[run] = runReply{err: d.Err}
			p.answered = append(p.answered, run)
		default:
			b.answers[run] = runReply{result: spec.RunResult{Failures: d.Failures}}
			p.refused = append(p.refused, run)
		}
	}
	again, uncertain := b.proposeLaunch(t, entry, recorded)
	t.planner.resolve(p.reserved, uncertain)
	again = append(again, b.answerRefused(t, p)...)
	b.awaitPlans(t, p.waitFor)
	return append(again, p.deferred...)
}

func (b *launchBatch) failAll(runs []int, err error) []int {
	for _, run := range runs {
		b.answers[run] = runReply{err: err}
	}
	return nil
}

// answerRefused answers the runs of a round that nothing is recorded of. Those that found no place are open again when something
// that was planned before them came to nothing, as its place may do for them.
func (b *launchBatch) answerRefused(t *leaderTerm, p *runPlan) (again []int) {
	without := p.answered
	if len(p.refused) > 0 {
		b.awaitPlans(t, p.concurrent)
		if failed := t.planner.failedCount() > p.failedBefore; failed {
			again = b.retryOrFail(p.refused, nil)
		} else {
			without = append(without, p.refused...)
		}
	}
	if len(without) > 0 {
		if err := b.checkLeader(t.ctx); err != nil { // else the view was perhaps not the latest
			b.failAll(without, ErrNotLeader)
		}
	}
	return again
}

// awaitPlans returns when the flights have landed, or the term is over.
func (b *launchBatch) awaitPlans(t *leaderTerm, flights []*inFlightPlan) {
	for _, f := range flights {
		select {
		case <-f.resolved:
		case <-t.ctx.Done():
		}
	}
}

// proposeLaunch records the entry and answers its runs; it returns those that lost their places and may try again, and the tasks
// of which it is not certain that they are recorded.
func (b *launchBatch) proposeLaunch(t *leaderTerm, entry raftfsm.LaunchTasks, runs []int) (again []int, uncertain []*spec.Task) {
	if len(runs) == 0 {
		return nil, nil
	}
	answer, err := b.propose(t.ctx, entry)
	if err != nil {
		for i := range entry.Runs {
			uncertain = append(uncertain, entry.Runs[i].Tasks...)
		}
		return b.failAll(runs, err), uncertain
	}
	for i, result := range answer.([]raftfsm.LaunchResult) {
		run, planned := runs[i], entry.Runs[i].Tasks
		b.answers[run] = runReply{result.Result, result.Err}
		if recorded := result.Result.Tasks; len(recorded) == 0 || recorded[0].ID != planned[0].ID { // or it is what its token started before
			uncertain = append(uncertain, planned...)
		}
		if len(result.Refused) > 0 {
			b.log.Debug("a run lost its places, planning again", "why", result.Conflict)
			busy := fmt.Errorf("%w (other changes took the places %d times: %s)", errBusy, maxPlanAttempts, result.Conflict)
			again = append(again, b.retryOrFail([]int{run}, busy)...)
		}
	}
	return again, uncertain
}

// retryOrFail counts a race that the runs have lost, and returns those that may try again. The others get the error, or keep the
// answer that they have.
func (b *launchBatch) retryOrFail(runs []int, err error) (again []int) {
	for _, run := range runs {
		if b.conflicts[run]++; b.conflicts[run] < maxPlanAttempts {
			again = append(again, run)
		} else if err != nil {
			b.answers[run] = runReply{err: err}
		}
	}
	return again
}

func newLaunch(run spec.RunRequest, d schedule.Decision, at time.Time) raftfsm.Launch {
	return raftfsm.Launch{
		Cluster:   run.Cluster,
		Token:     run.Token,
		TokenHash: run.TokenHash,
		Tasks:     d.Tasks,
		Failures:  d.Failures,
		At:        at,
	}
}
