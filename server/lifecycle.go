package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/batch"
)

const (
	// lifecycleBackoff is how long the loop waits after something could not be recorded, before it looks at everything again.
	lifecycleBackoff = 5 * time.Second
	// maxLifecycleChanges is how many changes it looks at in one round.
	maxLifecycleChanges = 1000
	// stopConcurrency is how many tasks it stops at the same time: entries that wait together share a write to the disk.
	stopConcurrency = 64
	// maxLifecycleEntryTasks is how many tasks one entry of its holds, so that it stays below a megabyte. A gang is never divided.
	maxLifecycleEntryTasks = 500
)

// lifecycleLoop carries out what follows from the end of tasks: their gangs end, they are done again, and who waited for them
// is released or can never run. All of it is derived from the state, and recording it twice changes nothing, so a new
// leader goes on from what it finds.
func (s *Server) lifecycleLoop(ctx context.Context) {
	for {
		err := s.followLifecycle(ctx)
		if ctx.Err() != nil {
			return
		}
		if forgotten := new(raftfsm.CompactedError); errors.As(err, &forgotten) {
			continue // more happened than is remembered: look at everything
		}
		s.log.Warn("cannot carry out what follows from the end of tasks, will try again", "error", err)
		select {
		case <-time.After(lifecycleBackoff):
		case <-ctx.Done():
			return
		}
	}
}

// followLifecycle looks at all tasks, and then at each that changes.
func (s *Server) followLifecycle(ctx context.Context) error {
	view := s.state.View()
	mark := raftfsm.PositionAfter(view.Index())
	e := newLifecycle(s)
	e.evaluateAll(view)
	for {
		if err := e.commit(ctx); err != nil {
			return err
		}
		changes, more, err := s.state.Changes(mark, maxLifecycleChanges)
		if err != nil {
			return err
		}
		if len(changes) == 0 {
			select {
			case <-more:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			continue
		}
		mark = changes[len(changes)-1].Position
		e.evaluateChanges(s.state.View(), changes)
	}
}

// lifecycle is what the loop has seen and what is to be recorded because of that.
type lifecycle struct {
	*Server
	dependencies dependencyIndex

	stops     []raftfsm.StopTask
	retries   [][]*spec.Task // each is recorded whole
	releases  []raftfsm.Resolution
	gangsSeen map[string]bool // in this round
}

func newLifecycle(s *Server) *lifecycle {
	return &lifecycle{Server: s, dependencies: newDependencyIndex(), gangsSeen: map[string]bool{}}
}

// evaluateAll begins with the tasks that wait for others, so that all tasks are gone through once.
func (e *lifecycle) evaluateAll(v *raftfsm.View) {
	for t := range v.QueuedTasks("") {
		e.trackDependencies(v, t)
	}
	for _, cluster := range v.Clusters() {
		for t := range v.TasksAfter(cluster.Name, "") {
			e.evaluate(v, t)
			e.dependencies.update(v, t)
		}
	}
	e.resolveDependencies(v)
}

func (e *lifecycle) evaluateChanges(v *raftfsm.View, changes []*raftfsm.Change) {
	for _, change := range changes {
		if change.Kind != raftfsm.TaskChange || !e.isRelevant(change.Task()) {
			continue
		}
		t := v.Task(change.Task().ID)
		if t == nil {
			continue
		}
		e.trackDependencies(v, t)
		e.evaluate(v, t)
		e.dependencies.update(v, t)
	}
	e.dependencies.scanAdded(v)
	e.resolveDependencies(v)
}

// isRelevant says whether anything can follow from a task; of most changes nothing does.
func (e *lifecycle) isRelevant(t *spec.Task) bool {
	return t.DesiredStatus == spec.Stopped || t.Blocked() || len(e.dependencies.byTarget) > 0
}

// trackDependencies notes what a task waits for; what can never come true ends it.
func (e *lifecycle) trackDependencies(v *raftfsm.View, t *spec.Task) {
	for _, after := range t.Dependencies() {
		if after.Group != "" && after.Group != t.Group {
			e.dependencies.add(v, t, after)
			continue
		}
		met, never := batch.DependencyState(v, t, after)
		switch {
		case met:
			e.addRelease(t.ID, after)
		case never != "":
			e.failDependent(t.ID, after, never)
		default:
			e.dependencies.add(v, t, after)
		}
	}
}

// evaluate finds what follows for the task itself and for its gang.
func (e *lifecycle) evaluate(v *raftfsm.View, t *spec.Task) {
	if t.DesiredStatus != spec.Stopped {
		return
	}
	if t.Gang != nil {
		if e.gangsSeen[t.Gang.ID] {
			return
		}
		e.gangsSeen[t.Gang.ID] = true
		tasks, reason := batch.GangStops(v, t.Gang.ID)
		for _, mate := range tasks {
			e.addStop(mate.ID, reason)
		}
	}
	if t.LastStatus == spec.Stopped {
		if again := batch.Retry(v, t, e.cfg.Now(), newTaskID); again != nil {
			e.retries = append(e.retries, again)
		}
	}
}

// resolveDependencies ends what is waited for and has come true, or never can.
func (e *lifecycle) resolveDependencies(v *raftfsm.View) {
	for _, w := range e.dependencies.takeResolved() {
		for _, id := range slices.Sorted(maps.Keys(w.dependents)) {
			if w.never == "" {
				e.addRelease(id, w.after)
			} else {
				e.failDependent(id, w.after, w.never)
			}
		}
	}
	clear(e.gangsSeen)
}

func (e *lifecycle) addRelease(id string, after spec.TaskDependency) {
	e.releases = append(e.releases, raftfsm.Resolution{TaskID: id, After: []string{after.String()}})
}

// failDependent ends a task that waits in vain.
func (e *lifecycle) failDependent(id string, after spec.TaskDependency, why string) {
	e.addStop(id, fmt.Sprintf("It waited for %s (%s): %s", after, spec.TagAfter, why))
}

func (e *lifecycle) addStop(id, reason string) {
	e.stops = append(e.stops, raftfsm.StopTask{ID: id, Code: spec.StopScheduler, Reason: reason, At: e.cfg.Now()})
}

// commit records what was found. After an error what is left is found again from the state.
func (e *lifecycle) commit(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stopConcurrency)
	for _, stop := range e.stops {
		group.Go(func() error {
			_, err := e.propose(ctx, stop)
			if errors.Is(err, spec.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	for _, tasks := range packEntries(e.retries) {
		group.Go(func() error {
			_, err := e.propose(ctx, raftfsm.RetryTasks{Tasks: tasks})
			return err
		})
	}
	for some := range slices.Chunk(e.releases, maxLifecycleEntryTasks) {
		group.Go(func() error {
			_, err := e.propose(ctx, raftfsm.ResolveDependencies{Releases: some})
			return err
		})
	}
	e.stops, e.retries, e.releases = nil, nil, nil
	return group.Wait()
}

// packEntries makes few entries of many groups, without dividing one.
func packEntries(groups [][]*spec.Task) (entries [][]*spec.Task) {
	for _, group := range groups {
		last := len(entries) - 1
		if last < 0 || len(entries[last])+len(group) > maxLifecycleEntryTasks {
			entries = append(entries, group)
		} else {
			entries[last] = append(entries[last], group...)
		}
	}
	return entries
}
