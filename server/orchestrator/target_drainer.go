package orchestrator

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/traffic"
)

// targetInterval is how often the leader looks whether targets have drained.
const targetInterval = 200 * time.Millisecond

// TargetDrainer is the reconciler of tasks that are to stop and have targets: it records that no proxy has a request in flight to them, after
// which their hosts stop them. What proxies have in flight is in no log, so each leader learns it anew from heartbeats. One goroutine uses it.
type TargetDrainer struct {
	Proposer Proposer
	// Routing is what the state says: a task is drained when all of its targets there are.
	Routing func() traffic.Routing
	// Drained lists the targets to which no host has a request in flight.
	Drained func() []string
	Log     *slog.Logger
}

// Loop reconciles until ctx ends.
func (d *TargetDrainer) Loop(ctx context.Context) {
	for backoff.Sleep(ctx, tick.Until(targetInterval)) == nil {
		if err := d.Reconcile(ctx); err != nil && ctx.Err() == nil {
			d.Log.Warn("cannot record that tasks have no request in flight, will try again", "error", err)
		}
	}
}

// Reconcile records which tasks have drained.
func (d *TargetDrainer) Reconcile(ctx context.Context) error {
	drained := d.Drained()
	if len(drained) == 0 {
		return nil
	}
	tasks := d.due(drained)
	if len(tasks) == 0 {
		return nil
	}
	_, err := d.Proposer.Propose(ctx, raftfsm.RecordDrained{Tasks: tasks[:min(len(tasks), maxEntryTasks)]})
	return err
}

// due lists the tasks that drain, of which every target is among those drained.
func (d *TargetDrainer) due(drained []string) (tasks []string) {
	view, busy := d.Proposer.State().View(), d.busy(drained)
	seen := map[string]bool{}
	for _, id := range drained {
		target, ok := traffic.ParseTargetID(id)
		if !ok || busy[target.Task] || seen[target.Task] {
			continue
		}
		seen[target.Task] = true
		if task := view.Task(target.Task); task != nil && task.Drains() {
			tasks = append(tasks, task.ID)
		}
	}
	return tasks
}

// busy are the tasks with a target that is not among those drained.
func (d *TargetDrainer) busy(drained []string) map[string]bool {
	busy := map[string]bool{}
	for _, g := range d.Routing().Groups {
		for _, t := range g.Targets {
			target, ok := traffic.ParseTargetID(t.ID)
			if _, is := slices.BinarySearch(drained, t.ID); ok && !is {
				busy[target.Task] = true
			}
		}
	}
	return busy
}
