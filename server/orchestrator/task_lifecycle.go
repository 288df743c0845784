package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/packaging/backoff"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/schedule/batch"
)

const (
	// lifecycleBackoff is the pause after something could not be recorded; everything is evaluated anew then.
	lifecycleBackoff = 5 * time.Second
	// maxLifecycleChanges is the number of changes that are evaluated at a time.
	maxLifecycleChanges = 1000
	// commitConcurrency is the number of entries in flight at most: those that are proposed together share a write to the disk.
	commitConcurrency = 64
	// maxEntryTasks is the number of tasks of one entry, so that it stays below a megabyte. A gang is never divided.
	maxEntryTasks = 500
)

// TaskLifecycle is the reconciler of what follows from the end of a task: its gang stops, its work is retried, and the tasks
// that depend on it are released or stopped. Package batch has the rules. One goroutine uses it.
type TaskLifecycle struct {
	proposer     Proposer
	log          *slog.Logger
	follower     raftfsm.Follower
	dependencies *dependencyIndex

	// What is to be recorded.
	stops       []raftfsm.StopTask
	retries     [][]*spec.Task // each is recorded whole
	resolutions []raftfsm.Resolution

	gangsSeen map[string]bool // since the last commit
}

// NewTaskLifecycle makes the reconciler for one leader term.
func NewTaskLifecycle(p Proposer, log *slog.Logger) *TaskLifecycle {
	l := &TaskLifecycle{proposer: p, log: log, gangsSeen: map[string]bool{}}
	l.follower = raftfsm.Follower{State: p.State(), Rebuild: l.evaluateAll, Apply: l.evaluateChanges, Limit: maxLifecycleChanges}
	return l
}

// Loop reconciles until ctx ends.
func (l *TaskLifecycle) Loop(ctx context.Context) {
	for ctx.Err() == nil {
		progress, changed := l.follower.Step()
		if !progress {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if err := l.commit(ctx); err != nil && ctx.Err() == nil {
			l.log.Warn("cannot carry out what follows from the end of tasks, will try again", "error", err)
			l.follower.Reset()
			_ = backoff.Sleep(ctx, lifecycleBackoff)
		}
	}
}

// evaluateAll begins with the pending tasks and their dependencies, so that one pass over all tasks is enough.
func (l *TaskLifecycle) evaluateAll(v *raftfsm.View) {
	l.dependencies = newDependencyIndex()
	for t := range v.QueuedTasks("") {
		l.trackDependencies(v, t)
	}
	for _, cluster := range v.Clusters() {
		for t := range v.TasksAfter(cluster.Name, "") {
			l.evaluate(v, t)
			l.dependencies.update(v, t)
		}
	}
	l.resolveDependencies()
}

func (l *TaskLifecycle) evaluateChanges(v *raftfsm.View, changes []*raftfsm.Change) {
	for _, change := range changes {
		if change.Kind != raftfsm.TaskChange || !l.isRelevant(change.Task()) {
			continue
		}
		t := v.Task(change.Task().ID)
		if t == nil {
			continue
		}
		l.trackDependencies(v, t)
		l.evaluate(v, t)
		l.dependencies.update(v, t)
	}
	l.dependencies.scanAdded(v)
	l.resolveDependencies()
}

// isRelevant reports whether anything can follow from a task; of most changes nothing does.
func (l *TaskLifecycle) isRelevant(t *spec.Task) bool {
	return t.DesiredStatus == spec.Stopped || t.Blocked() || len(l.dependencies.byTarget) > 0
}

// trackDependencies adds the dependencies of a task to the index. One that can never be satisfied stops the task.
func (l *TaskLifecycle) trackDependencies(v *raftfsm.View, t *spec.Task) {
	for _, dependency := range t.Dependencies() {
		if dependency.Group != "" && dependency.Group != t.Group {
			l.dependencies.add(v, t, dependency)
			continue
		}
		met, never := batch.DependencyState(v, t, dependency)
		switch {
		case met:
			l.release(t.ID, dependency)
		case never != "":
			l.failDependent(t.ID, dependency, never)
		default:
			l.dependencies.add(v, t, dependency)
		}
	}
}

// evaluate finds what follows from the end of a task for its gang and for its work.
func (l *TaskLifecycle) evaluate(v *raftfsm.View, t *spec.Task) {
	if t.DesiredStatus != spec.Stopped {
		return
	}
	if t.Gang != nil {
		if l.gangsSeen[t.Gang.ID] {
			return
		}
		l.gangsSeen[t.Gang.ID] = true
		tasks, reason := batch.GangStops(v, t.Gang.ID)
		for _, mate := range tasks {
			l.stop(mate.ID, reason)
		}
	}
	if t.LastStatus == spec.Stopped {
		if retry := batch.Retry(v, t, l.proposer.Now(), id.NewTask); retry != nil {
			l.retries = append(l.retries, retry)
		}
	}
}

// resolveDependencies releases the tasks whose dependency is satisfied, and stops those for which it never can be.
func (l *TaskLifecycle) resolveDependencies() {
	for _, d := range l.dependencies.takeResolved() {
		for _, id := range slices.Sorted(maps.Keys(d.dependents)) {
			if d.never == "" {
				l.release(id, d.on)
			} else {
				l.failDependent(id, d.on, d.never)
			}
		}
	}
	clear(l.gangsSeen)
}

func (l *TaskLifecycle) release(id string, satisfied spec.TaskDependency) {
	l.resolutions = append(l.resolutions, raftfsm.Resolution{TaskID: id, After: []string{satisfied.String()}})
}

// failDependent stops a task whose dependency can never be satisfied.
func (l *TaskLifecycle) failDependent(id string, on spec.TaskDependency, why string) {
	l.stop(id, fmt.Sprintf("It waited for %s (%s): %s", on, spec.TagAfter, why))
}

func (l *TaskLifecycle) stop(id, reason string) {
	l.stops = append(l.stops, raftfsm.StopTask{ID: id, Code: spec.StopScheduler, Reason: reason, At: l.proposer.Now()})
}

// commit records what was found. After an error the rest is found again by evaluateAll.
func (l *TaskLifecycle) commit(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(commitConcurrency)
	propose := func(c raftfsm.Command) {
		group.Go(func() error {
			_, err := l.proposer.Propose(ctx, c)
			return err
		})
	}
	for _, stop := range l.stops {
		group.Go(func() error {
			_, err := l.proposer.Propose(ctx, stop)
			if errors.Is(err, spec.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	for _, tasks := range packEntries(l.retries) {
		propose(raftfsm.RetryTasks{Tasks: tasks})
	}
	for some := range slices.Chunk(l.resolutions, maxEntryTasks) {
		propose(raftfsm.ResolveDependencies{Releases: some})
	}
	l.stops, l.retries, l.resolutions = nil, nil, nil
	return group.Wait()
}

// packEntries packs groups into few entries, without dividing one.
func packEntries(groups [][]*spec.Task) (entries [][]*spec.Task) {
	for _, group := range groups {
		last := len(entries) - 1
		if last < 0 || len(entries[last])+len(group) > maxEntryTasks {
			entries = append(entries, group)
		} else {
			entries[last] = append(entries[last], group...)
		}
	}
	return entries
}
