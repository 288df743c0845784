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
	// placeLimit is how many runs are planned together at most.
	placeLimit = 512
	// placesAtOnce is how many batches are under way at a time: one is planned while others are being recorded.
	placesAtOnce = 3
	// entryTasks is how many tasks one entry has at most; a run is never divided. An entry stays below a megabyte, and others
	// do not wait long while it is applied.
	entryTasks = 1000
	// placeAttempts is how often a run is planned again after it lost its places to another change.
	placeAttempts = 5
)

// placed is the answer to one run.
type placed struct {
	result spec.RunResult
	err    error
}

// Run places and records tasks: RunTask and StartTask. Requests that arrive while others are being recorded are planned
// together on one view and recorded in one entry. What cannot be placed comes back as failures; an error means that
// nothing of the run was recorded, unless it is ErrOutcomeUnknown.
func (s *Server) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	if err := s.begin(); err != nil {
		return spec.RunResult{}, err
	}
	defer s.calls.RUnlock()
	if r.CapacityProvider != "" {
		return s.enqueue(ctx, r)
	}
	answer, err := s.runs.do(ctx, r)
	if err != nil {
		return spec.RunResult{}, err
	}
	return answer.result, answer.err
}

// place answers a batch of runs. Each round plans runs that are open on the newest view and records them in one entry. A
// run stays open when another change took its places, when a run before it carries the same client token and has to be
// answered first, or when the entry has no room for it.
func (s *Server) place(runs []spec.RunRequest) []placed {
	b := &runBatch{Server: s, runs: runs, answers: make([]placed, len(runs)), lost: make([]int, len(runs))}
	open := make([]int, len(runs))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		open = b.round(open)
	}
	return b.answers
}

// runBatch is the state of one place call; runs, answers and lost go together by index.
type runBatch struct {
	*Server
	runs    []spec.RunRequest
	answers []placed
	lost    []int // races lost so far
}

// round settles what it can and returns the runs that are still open.
func (b *runBatch) round(open []int) []int {
	t, err := b.leading()
	if full := b.diskError(); full != nil {
		err = full
	}
	if err != nil {
		return b.failAll(open, err)
	}
	return b.answer(t, b.plan(t.planner, open))
}

// answer records what the plan gave places to, and answers its runs; it returns those that are still open.
func (b *runBatch) answer(t *term, p *plan) []int {
	var (
		entry    raftfsm.LaunchTasks
		recorded []int
	)
	for i, run := range p.runs {
		d := p.decisions[i]
		switch {
		case len(d.Tasks) > 0:
			entry.Runs = append(entry.Runs, launch(b.runs[run], d, p.at))
			recorded = append(recorded, run)
		case d.Err != nil:
			b.answers[run] = placed{err: d.Err}
			p.settled = append(p.settled, run)
		default:
			b.answers[run] = placed{result: spec.RunResult{Failures: d.Failures}}
			p.refused = append(p.refused, run)
		}
	}
	again, doubtful := b.launch(t, entry, recorded)
	t.planner.land(p.flight, doubtful)
	again = append(again, b.refuse(t, p)...)
	b.wait(t, p.behind)
	return append(again, p.later...)
}

func (b *runBatch) failAll(runs []int, err error) []int {
	for _, run := range runs {
		b.answers[run] = placed{err: err}
	}
	return nil
}

// refuse answers the runs of a round that nothing is recorded of. Those that found no place are open again when something
// that was planned before them came to nothing, as its place may do for them.
func (b *runBatch) refuse(t *term, p *plan) (again []int) {
	without := p.settled
	if len(p.refused) > 0 {
		b.wait(t, p.under)
		if failed := t.planner.failures() > p.failures; failed {
			again = b.lose(p.refused, nil)
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

// wait returns when the flights have landed, or the term is over.
func (b *runBatch) wait(t *term, flights []*flight) {
	for _, f := range flights {
		select {
		case <-f.landed:
		case <-t.ctx.Done():
		}
	}
}

// launch records the entry and answers its runs; it returns those that lost their places and may try again, and the tasks
// of which it is not certain that they are recorded.
func (b *runBatch) launch(t *term, entry raftfsm.LaunchTasks, runs []int) (again []int, doubtful []*spec.Task) {
	if len(runs) == 0 {
		return nil, nil
	}
	answer, err := b.record(t.ctx, entry)
	if err != nil {
		for i := range entry.Runs {
			doubtful = append(doubtful, entry.Runs[i].Tasks...)
		}
		return b.failAll(runs, err), doubtful
	}
	for i, result := range answer.([]raftfsm.LaunchResult) {
		run, planned := runs[i], entry.Runs[i].Tasks
		b.answers[run] = placed{result.Result, result.Err}
		if recorded := result.Result.Tasks; len(recorded) == 0 || recorded[0].ID != planned[0].ID { // or it is what its token started before
			doubtful = append(doubtful, planned...)
		}
		if len(result.Refused) > 0 {
			b.log.Debug("a run lost its places, planning again", "why", result.Why)
			busy := fmt.Errorf("%w (other changes took the places %d times: %s)", errBusy, placeAttempts, result.Why)
			again = append(again, b.lose([]int{run}, busy)...)
		}
	}
	return again, doubtful
}

// lose counts a race that the runs have lost, and returns those that may try again. The others get the error, or keep the
// answer that they have.
func (b *runBatch) lose(runs []int, err error) (again []int) {
	for _, run := range runs {
		if b.lost[run]++; b.lost[run] < placeAttempts {
			again = append(again, run)
		} else if err != nil {
			b.answers[run] = placed{err: err}
		}
	}
	return again
}

func launch(run spec.RunRequest, d schedule.Decision, at time.Time) raftfsm.Launch {
	return raftfsm.Launch{
		Cluster:   run.Cluster,
		Token:     run.Token,
		TokenHash: run.TokenHash,
		Tasks:     d.Tasks,
		Failures:  d.Failures,
		At:        at,
	}
}
