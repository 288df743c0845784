package server

import (
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
)

// plan is what one round decides: which runs are planned, and what for.
type plan struct {
	at        time.Time
	runs      []int
	requests  []schedule.Request
	decisions []schedule.Decision
	flight    *flight
	under     []*flight // those that were under way
	failures  int       // of flights until then

	settled []int     // answered from the view alone
	refused []int     // found no place
	later   []int     // wait for a run with the same token, or for room in an entry
	behind  []*flight // that have a token of later
}

// plan prepares the open runs and plans them. Those whose token is known, or that cannot run at all, are answered here.
func (b *runBatch) plan(on *planner, open []int) *plan {
	p := &plan{at: b.cfg.Now()}
	p.decisions, p.flight = on.plan(func(view *raftfsm.View, under []*flight) []schedule.Request {
		p.under, p.failures = under, on.failed
		b.prepare(p, view, open)
		return p.requests
	})
	return p
}

func (b *runBatch) prepare(p *plan, view *raftfsm.View, open []int) {
	tokens, tasks := make(map[[2]string]bool), 0
	for _, i := range open {
		run := b.runs[i]
		token := [2]string{run.Cluster, run.Token}
		if run.Token != "" {
			ahead := slices.IndexFunc(p.under, func(f *flight) bool { return slices.Contains(f.tokens, token) })
			if ahead >= 0 {
				p.behind = append(p.behind, p.under[ahead])
			}
			if ahead >= 0 || tokens[token] {
				p.later = append(p.later, i)
				continue
			}
		}
		wanted := max(run.Count, len(run.Hosts))
		if tasks > 0 && tasks+wanted > entryTasks {
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
			tasks += wanted
			p.runs = append(p.runs, i)
			p.requests = append(p.requests, schedule.Request{Run: run, Definition: definition, IDs: newTaskID, At: p.at, Seed: newSeed()})
		}
	}
}

// prepare finds the first answer of a token, or else the effective definition to run.
func prepare(view *raftfsm.View, run spec.RunRequest) (*spec.TaskDefinition, *spec.RunResult, error) {
	before, err := view.Launched(run.Cluster, run.Token, run.TokenHash)
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
