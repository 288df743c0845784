package server

import (
	"context"
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/server/schedule"
)

const (
	// placeLimit is how many runs are planned and recorded together at most. A run has at most ten tasks of a few
	// hundred bytes, so an entry stays far below a megabyte.
	placeLimit = 128
	// placeAttempts is how often a run is planned again after it lost its places to another change.
	placeAttempts = 5
)

// placed is the answer to one run.
type placed struct {
	result raftfsm.RunResult
	err    error
}

// Run places and records tasks: RunTask and StartTask. Requests that arrive while others are being recorded are planned
// together on one view and recorded in one entry. What cannot be placed comes back as failures; an error means that
// nothing of the run was recorded, unless it is ErrOutcomeUnknown.
func (s *Server) Run(ctx context.Context, r raftfsm.RunRequest) (raftfsm.RunResult, error) {
	if err := s.begin(); err != nil {
		return raftfsm.RunResult{}, err
	}
	defer s.calls.RUnlock()
	answer, err := s.runs.do(ctx, r)
	if err != nil {
		return raftfsm.RunResult{}, err
	}
	return answer.result, answer.err
}

// place answers a batch of runs. Each round plans all runs that are open on the newest view and records them in one
// entry. A run stays open when another change took its places, or when a run before it in the batch carries the same
// client token and has to be answered first.
func (s *Server) place(runs []raftfsm.RunRequest) []placed {
	b := &batch{Server: s, runs: runs, answers: make([]placed, len(runs)), lost: make([]int, len(runs))}
	open := make([]int, len(runs))
	for i := range open {
		open[i] = i
	}
	for len(open) > 0 {
		open = b.round(open)
	}
	return b.answers
}

// batch is the state of one place call; runs, answers and lost go together by index.
type batch struct {
	*Server
	runs    []raftfsm.RunRequest
	answers []placed
	lost    []int // races lost so far
}

// plan is one round: which runs are planned, and what for.
type plan struct {
	at       time.Time
	settled  []int // answered from the view alone
	runs     []int
	requests []schedule.Request
	later    []int // runs that wait for one with the same token
}

// round settles what it can and returns the runs that are still open.
func (b *batch) round(open []int) []int {
	t, err := b.leading()
	if full := b.diskError(); full != nil {
		err = full
	}
	if err != nil {
		return b.failAll(open, err)
	}
	view := b.state.View()
	p := b.plan(view, open)
	decisions := schedule.Plan(b.hosts(view, t), p.requests)
	var (
		entry    raftfsm.LaunchTasks
		recorded []int
		without  = p.settled // answered without an entry
	)
	for i, run := range p.runs {
		d := decisions[i]
		if len(d.Tasks) == 0 {
			b.answers[run] = placed{raftfsm.RunResult{Failures: d.Failures}, d.Err}
			without = append(without, run)
			continue
		}
		entry.Runs = append(entry.Runs, launch(b.runs[run], d, p.at))
		recorded = append(recorded, run)
	}
	if len(without) > 0 {
		if err := b.checkLeader(t.ctx); err != nil { // else the view was perhaps not the latest
			b.failAll(without, ErrNotLeader)
		}
	}
	return append(b.launch(t, entry, recorded), p.later...)
}

func (b *batch) failAll(runs []int, err error) []int {
	for _, run := range runs {
		b.answers[run] = placed{err: err}
	}
	return nil
}

// plan prepares the open runs: those whose token is known, or that cannot run at all, are answered here.
func (b *batch) plan(view *raftfsm.View, open []int) plan {
	p := plan{at: b.cfg.Now()}
	tokens := make(map[[2]string]bool)
	for _, i := range open {
		run := b.runs[i]
		token := [2]string{run.Cluster, run.Token}
		if run.Token != "" && tokens[token] {
			p.later = append(p.later, i)
			continue
		}
		tokens[token] = true
		definition, before, err := prepare(view, run)
		switch {
		case err != nil:
			b.answers[i] = placed{err: err}
			p.settled = append(p.settled, i)
		case before != nil:
			b.answers[i] = placed{result: *before}
			p.settled = append(p.settled, i)
		default:
			p.runs = append(p.runs, i)
			p.requests = append(p.requests, schedule.Request{Run: run, Definition: definition, IDs: newID, At: p.at, Seed: newSeed()})
		}
	}
	return p
}

// prepare finds the first answer of a token, or else the effective definition to run.
func prepare(view *raftfsm.View, run raftfsm.RunRequest) (*raftfsm.TaskDefinition, *raftfsm.RunResult, error) {
	before, err := view.Launched(run.Cluster, run.Token, run.TokenHash)
	if err != nil || before != nil {
		return nil, before, err
	}
	cluster, definition := view.Cluster(run.Cluster), view.Definition(run.Definition)
	switch {
	case cluster == nil:
		err = fmt.Errorf("cluster %q: %w", run.Cluster, raftfsm.ErrNotFound)
	case cluster.Status != raftfsm.ClusterActive:
		err = fmt.Errorf("cluster %q: %w", run.Cluster, raftfsm.ErrInactive)
	case definition == nil:
		err = fmt.Errorf("task definition %q: %w", run.Definition, raftfsm.ErrNotFound)
	case definition.Status != raftfsm.DefinitionActive:
		err = fmt.Errorf("task definition %q: %w", run.Definition, raftfsm.ErrInactive)
	}
	if err != nil {
		return nil, nil, err
	}
	return raftfsm.Effective(definition, run.Overrides), nil, nil
}

// hosts is every host as the planner sees it.
func (b *batch) hosts(view *raftfsm.View, t *term) []schedule.Host {
	var hosts []schedule.Host
	for _, host := range view.Hosts("") {
		reliable := t.reliable(b.cfg, host.ID) && !host.Lost()
		hosts = append(hosts, schedule.Host{Host: host, Free: view.Free(host.ID), Connected: reliable,
			Tasks: func() []*raftfsm.Task { return view.TasksOn(host.ID) }})
	}
	return hosts
}

func launch(run raftfsm.RunRequest, d schedule.Decision, at time.Time) raftfsm.Launch {
	return raftfsm.Launch{
		Cluster:   run.Cluster,
		Token:     run.Token,
		TokenHash: run.TokenHash,
		Tasks:     d.Tasks,
		Failures:  d.Failures,
		At:        at,
	}
}

// launch records the entry and answers its runs; it returns those that lost their places and may try again.
func (b *batch) launch(t *term, entry raftfsm.LaunchTasks, runs []int) (again []int) {
	if len(runs) == 0 {
		return nil
	}
	answer, err := b.record(t.ctx, entry)
	if err != nil {
		return b.failAll(runs, err)
	}
	for i, result := range answer.([]raftfsm.LaunchResult) {
		run := runs[i]
		b.answers[run] = placed{result.Result, result.Err}
		if len(result.Refused) == 0 {
			continue
		}
		b.log.Debug("a run lost its places, planning again", "why", result.Why)
		if b.lost[run]++; b.lost[run] < placeAttempts {
			again = append(again, run)
			continue
		}
		b.answers[run] = placed{err: fmt.Errorf("%w (other changes took the places %d times: %s)", errBusy, placeAttempts, result.Why)}
	}
	return again
}
