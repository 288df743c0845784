package server

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// runPlan is what one round decides: which runs are planned, and what for.
type runPlan struct {
	at           time.Time
	runs         []int
	requests     []schedule.Request
	decisions    []schedule.Decision
	reserved     *inFlightPlan
	concurrent   []*inFlightPlan // those that were under way
	failedBefore int             // of flights until then

	answered []int           // answered from the view alone
	refused  []int           // found no place
	deferred []int           // wait for a run with the same token, or for room in an entry
	waitFor  []*inFlightPlan // that have a token of later
}

// plan prepares the open runs and plans them. Those whose token is known, or that cannot run at all, are answered here.
func (b *launchBatch) plan(on *planner, open []int) *runPlan {
	p := &runPlan{at: b.cfg.Now()}
	p.decisions, p.reserved = on.plan(func(view *raftfsm.View, under []*inFlightPlan) []schedule.Request {
		p.concurrent, p.failedBefore = under, on.failedPlans
		b.buildRequests(p, view, open)
		return p.requests
	})
	return p
}

func (b *launchBatch) buildRequests(p *runPlan, view *raftfsm.View, open []int) {
	tokens, tasks := make(map[[2]string]bool), 0
	for _, i := range open {
		run := b.runs[i]
		token := [2]string{run.Cluster, run.Token}
		if run.Token != "" {
			ahead := slices.IndexFunc(p.concurrent, func(f *inFlightPlan) bool { return slices.Contains(f.tokens, token) })
			if ahead >= 0 {
				p.waitFor = append(p.waitFor, p.concurrent[ahead])
			}
			if ahead >= 0 || tokens[token] {
				p.deferred = append(p.deferred, i)
				continue
			}
		}
		wanted := max(run.Count, len(run.Hosts))
		if tasks > 0 && tasks+wanted > maxEntryTasks {
			p.deferred = append(p.deferred, i)
			continue
		}
		tokens[token] = true
		definition, before, err := resolveRun(view, run)
		switch {
		case err != nil:
			b.answers[i] = runReply{err: err}
			p.answered = append(p.answered, i)
		case before != nil:
			b.answers[i] = runReply{result: *before}
			p.answered = append(p.answered, i)
		default:
			tasks += wanted
			p.runs = append(p.runs, i)
			p.requests = append(p.requests, schedule.Request{Run: run, Definition: definition, IDs: newTaskID, At: p.at, Seed: newSeed()})
		}
	}
}

// resolveRun finds the first answer of a token, or else the effective definition to run.
func resolveRun(view *raftfsm.View, run spec.RunRequest) (*spec.TaskDefinition, *spec.RunResult, error) {
	before, err := view.ClientTokenResult(run.Cluster, run.Token, run.TokenHash)
	if err != nil || before != nil {
		return nil, before, err
	}
	cluster, definition := view.Cluster(run.Cluster), view.Definition(run.Definition)
	switch {
	case cluster == nil:
		err = fmt.Errorf("cluster %q: %w", run.Cluster, spec.ErrNotFound)
	case cluster.Status != spec.ClusterActive:
		err = fmt.Errorf("cluster %q: %w", run.Cluster, spec.ErrInactive)
	case definition == nil:
		err = fmt.Errorf("task definition %q: %w", run.Definition, spec.ErrNotFound)
	case definition.Status != spec.DefinitionActive:
		err = fmt.Errorf("task definition %q: %w", run.Definition, spec.ErrInactive)
	}
	if err != nil {
		return nil, nil, err
	}
	return spec.Effective(definition, run.Overrides), nil, nil
}
