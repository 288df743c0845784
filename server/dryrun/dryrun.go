// Package dryrun says what a rollout will do, without doing it: the reconciler of services takes its steps on a fork of the state. The queue
// places the tasks of the service there as it would, and the hosts carry them out at once: each task that starts is healthy as soon as it may be.
package dryrun

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
	"pinion/server/orchestrator"
	"pinion/server/schedule/rollout"
)

const (
	// horizon is how far a dry run looks ahead: what waits longer waits for something that nobody knows.
	horizon = 24 * time.Hour
	// maxSteps bounds the work of one: a rollout of 5,000 tasks takes fewer.
	maxSteps = 20_000
)

// Rollouts knows those of services. Its methods fail with the error of Hosts.
type Rollouts struct {
	Hosts func() (Hosts, error) // as the server here knows them
}

// Hosts are the facts for a dry run that are not in the state.
type Hosts struct {
	Now         func() time.Time
	Schedulable func(hostID string) bool
}

// ServiceProgress is rollout.Progress now.
func (p Rollouts) ServiceProgress(v *raftfsm.View, s *service.Service) (service.Progress, error) {
	hosts, err := p.Hosts()
	if err != nil {
		return service.Progress{}, err
	}
	return rollout.Progress(v, s, hosts.Now()), nil
}

// DryRunService is Run for a service of a fork of the state here.
func (p Rollouts) DryRunService(ctx context.Context, fork *raftfsm.State, cluster, name string) (service.DryRun, error) {
	hosts, err := p.Hosts()
	if err != nil {
		return service.DryRun{}, err
	}
	return Run(ctx, fork, cluster, name, hosts.Now(), hosts.Schedulable)
}

// Run predicts the steps of the pool for a service of a fork of its state, which the dry run changes. schedulable reports whether a host
// was heard of lately enough for new tasks. spec.ErrNotFound, the cause of ctx.
func Run(ctx context.Context, fork *raftfsm.State, cluster, name string, now time.Time, schedulable func(hostID string) bool) (service.DryRun, error) {
	s := fork.View().Service(cluster, name)
	if s == nil || s.Status != service.Active {
		return service.DryRun{}, fmt.Errorf("service %s in cluster %s: %w", name, cluster, spec.ErrNotFound)
	}
	r := &run{state: fork, began: now, now: now, id: s.ID, schedulable: schedulable, made: map[string]bool{}, names: map[string]string{}}
	r.services = orchestrator.NewServices(r, schedulable, slog.New(slog.DiscardHandler))
	r.result = service.DryRun{Cluster: cluster, Service: name, Healthy: r.healthy(), Moves: []service.Move{}}
	r.result.LeastHealthy = r.result.Healthy
	for t := range fork.View().QueuedTasks(cluster) {
		if t.Service == nil || t.Service.ID != s.ID {
			r.result.Queued++
		}
	}
	for range maxSteps {
		if ctx.Err() != nil {
			return service.DryRun{}, context.Cause(ctx)
		}
		if goesOn, err := r.step(ctx); err != nil || !goesOn {
			r.conclude()
			return r.result, err
		}
	}
	return service.DryRun{}, fmt.Errorf("service %s: no end of its rollout is seen after %d steps", name, maxSteps)
}

// run is one dry run. It is the orchestrator.Proposer of the reconciler, with a clock of its own.
type run struct {
	state       *raftfsm.State
	began, now  time.Time
	id          string // of the service
	services    *orchestrator.Services
	schedulable func(hostID string) bool
	made        map[string]bool   // the ids of tasks that it has made
	names       map[string]string // of those of them that have started
	result      service.DryRun
}

// State is the fork.
func (r *run) State() *raftfsm.State { return r.state }

// Now is the time of the dry run.
func (r *run) Now() time.Time { return r.now }

// Propose applies a command to the fork.
func (r *run) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	return r.state.Apply(r.state.View().Index()+1, c)
}

func (r *run) service() *service.Service { return r.state.View().ServiceByID(r.id) }
func (r *run) healthy() int              { return rollout.Healthy(r.state.View(), r.service(), r.now) }

// step does the next thing that happens: the reconciler, the queue, the hosts, who is asked to have the rollout go on, and time, in this order. It is false when nothing does.
func (r *run) step(ctx context.Context) (goesOn bool, err error) {
	step, wake, changes := r.services.Next(r.state.View(), r.service())
	if changes {
		return r.take(ctx, step)
	}
	for _, act := range []func(context.Context) (bool, error){r.place, r.report, r.answer} {
		if acted, err := act(ctx); acted || err != nil {
			return acted, err
		}
	}
	if r.isOver() || wake.IsZero() || wake.After(r.began.Add(horizon)) {
		return false, nil
	}
	r.now = wake
	return true, nil
}

// answer has the rollout go on from a pause: what it does otherwise is no question.
func (r *run) answer(ctx context.Context) (acted bool, err error) {
	s := r.service()
	rollout := r.state.View().ServiceRollout(s.Primary().Rollout)
	if rollout == nil {
		return false, nil
	}
	for _, pause := range rollout.Pauses {
		if pause.Status != service.HookAwaiting {
			continue
		}
		_, err := r.Propose(ctx, raftfsm.ContinueService{Cluster: s.Cluster, Name: s.Name, Rollout: rollout.ID, Hook: pause.ID, Action: service.HookContinue, EventID: pause.ID, At: r.now})
		if err != nil {
			return false, err
		}
		r.result.Pauses, acted = append(r.result.Pauses, pause.Stage), true
	}
	return acted, nil
}

// take records a step of the reconciler, and the tasks that it stops.
func (r *run) take(ctx context.Context, step raftfsm.StepService) (bool, error) {
	for _, t := range step.Starts {
		r.made[t.ID] = true
	}
	var stopped []*spec.Task
	for _, stop := range step.Stops {
		if t := r.state.View().Task(stop.TaskID); t.HostID != "" {
			stopped = append(stopped, t)
		}
	}
	why := r.reason()
	answer, err := r.Propose(ctx, step)
	if err != nil {
		return false, err
	}
	if taken, _ := answer.(raftfsm.ServiceStep); taken.Service == nil {
		return false, fmt.Errorf("the service %s cannot take its next step: %w", step.Service.Name, taken.Refused)
	}
	r.result.LeastHealthy = min(r.result.LeastHealthy, r.healthy())
	if least := min(r.result.Healthy, r.service().Desired); !r.result.StopFirst && r.result.LeastHealthy < least && len(stopped) > 0 {
		r.result.StopFirst, r.result.Why = true, why
	}
	for _, t := range stopped {
		r.move(service.MoveStop, t)
	}
	return true, nil
}

// reason is why tasks are stopped now before others are healthy.
func (r *run) reason() string {
	view := r.state.View()
	for _, t := range view.ServiceTasks(r.id) {
		if t.LastStatus == spec.Provisioning && t.DesiredStatus != spec.Stopped {
			return r.services.NoPlace(view, t)
		}
	}
	s := r.service()
	return fmt.Sprintf("maximumPercent lets the service have %d tasks.", max(s.MaxTasks(), s.Desired))
}

func (r *run) move(action service.MoveAction, t *spec.Task) {
	host, name := t.HostID, r.names[t.ID]
	if known := r.state.View().Host(t.HostID); known != nil {
		host = known.Name
	}
	switch {
	case !r.made[t.ID]:
		name = t.ID
	case name == "":
		name = fmt.Sprintf("new %d", len(r.names)+1)
		r.names[t.ID] = name
	}
	r.result.Moves = append(r.result.Moves, service.Move{Action: action, Task: name, Definition: t.Definition, Host: host, GPUs: len(t.GPUs()), Healthy: r.healthy()})
}

// isOver reports whether the service is what it is to be.
func (r *run) isOver() bool {
	s := r.service()
	return s.Primary().State == service.Completed && len(s.Deployments) == 1 && r.healthy() == s.Desired && len(r.state.View().ServiceTasks(r.id)) == s.Desired
}

// conclude tells how the rollout ends.
func (r *run) conclude() {
	s := r.service()
	r.result.Definition, r.result.Desired, r.result.Completes = s.Primary().Definition, s.Desired, r.isOver()
	if r.result.Completes {
		return
	}
	var why []string
	for _, e := range s.Events {
		if !e.At.Before(r.began) && (e.Action == service.ActionNotPlaced || e.Action == service.ActionStartImpaired) {
			why = append(why, e.Message)
		}
	}
	r.result.WaitsFor = strings.Join(why, " ")
}
