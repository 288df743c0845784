package scheduler

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"pinion/packaging/failpoint"
	"pinion/raftfsm"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/schedule"
)

// planPass is one pass over the open runs of a batch: prepare, decide, commit, record, resolve.
type planPass struct {
	node Node
	term *term
	log  *slog.Logger
	at   time.Time
	plan *inFlightPlan

	planned  []plannedRun
	answered []*batchedRun   // answered by the view alone
	refused  []*batchedRun   // planned without a place
	deferred []*batchedRun   // wait for an earlier request with their client token, or for the next entry
	waitFor  []*inFlightPlan // plans with the client token of a deferred run

	concurrent     []*inFlightPlan // plans in flight when it began
	failuresBefore int             // failed plans when it began
}

// plannedRun is a run that gets places.
type plannedRun struct {
	*batchedRun
	tasks    []*spec.Task
	failures []spec.Failure
}

// prepare turns the open runs into requests for places. A run that is known by its client token, or that cannot
// run at all, is answered here. One planned run is returned for each request, in order.
func (a *planPass) prepare(view *raftfsm.View, open []*batchedRun) (requests []schedule.Request) {
	tokens, tasks := map[clientToken]bool{}, 0
	for _, l := range open {
		r := l.request
		token := clientToken{r.Cluster, r.ClientToken}
		wanted := max(r.Count, len(r.Hosts))
		if a.mustWait(token, tokens) || tasks > 0 && tasks+wanted > maxEntryTasks {
			a.deferred = append(a.deferred, l)
			continue
		}
		tokens[token] = true
		definition, before, err := resolve(view, r)
		switch {
		case err != nil:
			l.reply = runReply{err: err}
			a.answered = append(a.answered, l)
		case before != nil:
			l.reply = runReply{result: *before}
			a.answered = append(a.answered, l)
		default:
			tasks += wanted
			a.planned = append(a.planned, plannedRun{batchedRun: l})
			requests = append(requests, schedule.Request{Run: r, Definition: definition, IDs: id.NewTask, At: a.at, Seed: id.NewSeed(),
				Rules: view.Cluster(r.Cluster).Rules()})
		}
	}
	return requests
}

// mustWait reports whether an earlier request with the client token is not answered yet: one of this batch, or of a plan in
// flight.
func (a *planPass) mustWait(token clientToken, inBatch map[clientToken]bool) bool {
	if token.text == "" {
		return false
	}
	starts := func(plan *inFlightPlan) bool { return plan.starts(token) }
	if at := slices.IndexFunc(a.concurrent, starts); at >= 0 {
		a.waitFor = append(a.waitFor, a.concurrent[at])
		return true
	}
	return inBatch[token]
}

// resolve finds the first answer to a client token, or else the effective definition to run.
func resolve(view *raftfsm.View, r spec.RunRequest) (*spec.TaskDefinition, *spec.RunResult, error) {
	before, err := view.ClientTokenResult(r.Cluster, r.ClientToken, r.RequestHash)
	if err != nil || before != nil {
		return nil, before, err
	}
	cluster, definition := view.Cluster(r.Cluster), view.Definition(r.Definition)
	switch {
	case cluster == nil:
		err = fmt.Errorf("cluster %q: %w", r.Cluster, spec.ErrNotFound)
	case cluster.Status != spec.ClusterActive:
		err = fmt.Errorf("cluster %q: %w", r.Cluster, spec.ErrInactive)
	case definition == nil:
		err = fmt.Errorf("task definition %q: %w", r.Definition, spec.ErrNotFound)
	case definition.Status != spec.DefinitionActive:
		err = fmt.Errorf("task definition %q: %w", r.Definition, spec.ErrInactive)
	}
	if err != nil {
		return nil, nil, err
	}
	effective := spec.Effective(definition, r.Overrides)
	return effective, nil, checkLimits(view, r, effective)
}

// checkLimits refuses what is beyond a limit already, so that it costs no log entry. Apply checks again.
func checkLimits(view *raftfsm.View, r spec.RunRequest, effective *spec.TaskDefinition) error {
	more, demand := spec.Tally{Tasks: max(r.Count, len(r.Hosts))}, spec.DemandOf(effective)
	if r.CapacityProvider != "" {
		more.Waiting = more.Tasks
	}
	switch {
	case len(demand.Shares) > 0: // counts for what its GPU has, which is known when it is placed
	case !demand.WantsAllGPUs():
		more.GPUMilli = more.Tasks * schedule.LeastGPUs(r.Tags, demand) * gpuuse.Milli // of alternatives, what it gets is known then
	case more.Waiting > 0:
		more.GPUMilli = spec.AllHostGPUs
	}
	return view.CheckTasks(r.Cluster, r.Key, more)
}

// decide takes in the decisions on the requests of prepare. Launches without a place are set aside.
func (a *planPass) decide(decisions []schedule.Decision) {
	requested := a.planned
	a.planned = nil
	for i, d := range decisions {
		l := requested[i].batchedRun
		switch {
		case len(d.Tasks) > 0:
			a.planned = append(a.planned, plannedRun{l, d.Tasks, d.Failures})
		case d.Err != nil:
			l.reply = runReply{err: d.Err}
			a.answered = append(a.answered, l)
		default:
			l.reply = runReply{result: spec.RunResult{Failures: d.Failures}}
			a.refused = append(a.refused, l)
		}
	}
}

func (a *planPass) tasks() (tasks []*spec.Task) {
	for _, p := range a.planned {
		tasks = append(tasks, p.tasks...)
	}
	return tasks
}

func (a *planPass) clientTokens() (tokens []clientToken) {
	for _, p := range a.planned {
		if r := &p.request; r.ClientToken != "" {
			tokens = append(tokens, clientToken{r.Cluster, r.ClientToken})
		}
	}
	return tokens
}

// record proposes the plan, answers the launches, and returns those that are still open.
func (a *planPass) record() (again []*batchedRun) {
	again, uncertain := a.propose()
	a.plan.resolve(uncertain)
	again = append(again, a.answerUnrecorded()...)
	wait(a.term.ctx, a.waitFor)
	return append(again, a.deferred...)
}

// propose records the planned launches in one entry and answers them. It returns the launches that lost their places and
// may try again, and the tasks that are perhaps not recorded.
func (a *planPass) propose() (again []*batchedRun, uncertain []*spec.Task) {
	if len(a.planned) == 0 {
		return nil, nil
	}
	var entry raftfsm.LaunchTasks
	var signatures []spec.Signature
	for _, p := range a.planned {
		signatures = append(signatures, p.request.Signatures...)
		entry.Runs = append(entry.Runs, newLaunch(p.request, p.tasks, p.failures, a.at))
	}
	failpoint.Reached(failpoint.PlacementPlanned)
	answer, err := a.node.Propose(spec.WithSignatures(a.term.ctx, signatures...), entry)
	if err != nil {
		for _, p := range a.planned {
			p.reply = runReply{err: err}
		}
		return nil, a.tasks()
	}
	for i, result := range answer.([]raftfsm.LaunchResult) {
		p := a.planned[i]
		p.reply = runReply{result.Result, result.Err}
		if recorded := result.Result.Tasks; len(recorded) == 0 || recorded[0].ID != p.tasks[0].ID { // or they are the first answer to its token
			uncertain = append(uncertain, p.tasks...)
		}
		if len(result.Refused) > 0 {
			a.log.Debug("a run lost its places to another change, it is planned again", "conflict", result.Conflict)
			busy := fmt.Errorf("%w (other changes took the places %d times: %s)", spec.ErrBusy, maxPlanAttempts, result.Conflict)
			again = append(again, retry([]*batchedRun{p.batchedRun}, busy)...)
		}
	}
	return again, uncertain
}

// answerUnrecorded answers the launches of which nothing is recorded. A refused launch is open again when a plan that was in
// flight before it failed: it may find a place now. The other answers hold only if this node still leads, or the view was not the latest.
func (a *planPass) answerUnrecorded() (again []*batchedRun) {
	final := a.answered
	if len(a.refused) > 0 {
		wait(a.term.ctx, a.concurrent)
		if a.term.planner.failures() > a.failuresBefore {
			again = retry(a.refused, nil)
		} else {
			final = append(final, a.refused...)
		}
	}
	if len(final) > 0 && a.node.CheckLeader(a.term.ctx) != nil {
		failAll(final, spec.ErrNotLeader)
	}
	return again
}

func newLaunch(r spec.RunRequest, tasks []*spec.Task, failures []spec.Failure, at time.Time) raftfsm.Launch {
	return raftfsm.Launch{Cluster: r.Cluster, Token: r.ClientToken, TokenHash: r.RequestHash, Tasks: tasks, Failures: failures, At: at}
}
