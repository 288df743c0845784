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
	// batchPause is how long the loop waits after something could not be recorded, before it looks at everything again.
	batchPause = 5 * time.Second
	// batchChanges is how many changes it looks at in one round.
	batchChanges = 1000
	// stopsAtOnce is how many tasks it stops at the same time: entries that wait together share a write to the disk.
	stopsAtOnce = 64
	// recordsAtOnce is how many tasks one entry of its holds, so that it stays below a megabyte. A gang is never divided.
	recordsAtOnce = 500
)

// batchLoop carries out what follows from the end of tasks: their gangs end, they are done again, and who waited for them
// is released or can never run. All of it is derived from the state, and recording it twice changes nothing, so a new
// leader goes on from what it finds.
func (s *Server) batchLoop(ctx context.Context) {
	for {
		err := s.followEnds(ctx)
		if ctx.Err() != nil {
			return
		}
		if forgotten := new(raftfsm.Forgotten); errors.As(err, &forgotten) {
			continue // more happened than is remembered: look at everything
		}
		s.log.Warn("cannot carry out what follows from the end of tasks, will try again", "error", err)
		select {
		case <-time.After(batchPause):
		case <-ctx.Done():
			return
		}
	}
}

// followEnds looks at all tasks, and then at each that changes.
func (s *Server) followEnds(ctx context.Context) error {
	view := s.state.View()
	mark := raftfsm.EndOf(view.Index())
	e := newEnds(s)
	e.lookAtAll(view)
	for {
		if err := e.carryOut(ctx); err != nil {
			return err
		}
		changes, more, err := s.state.Changes(mark, batchChanges)
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
		mark = changes[len(changes)-1].Mark
		e.lookAt(s.state.View(), changes)
	}
}

// ends is what the loop has seen and what is to be recorded because of that.
type ends struct {
	*Server
	watches watches

	stops     []raftfsm.StopTask
	retries   [][]*spec.Task // each is recorded whole
	releases  []raftfsm.Release
	gangsSeen map[string]bool // in this round
}

func newEnds(s *Server) *ends {
	return &ends{Server: s, watches: newWatches(), gangsSeen: map[string]bool{}}
}

// lookAtAll begins with the tasks that wait for others, so that all tasks are gone through once.
func (e *ends) lookAtAll(v *raftfsm.View) {
	for t := range v.Waiting("") {
		e.hold(v, t)
	}
	for _, cluster := range v.Clusters() {
		for t := range v.TasksAfter(cluster.Name, "") {
			e.look(v, t)
			e.watches.see(v, t)
		}
	}
	e.settle(v)
}

func (e *ends) lookAt(v *raftfsm.View, changes []*raftfsm.Change) {
	for _, change := range changes {
		if change.Kind != raftfsm.TaskChange || !e.concerns(change.Task) {
			continue
		}
		t := v.Task(change.Task.ID)
		if t == nil {
			continue
		}
		e.hold(v, t)
		e.look(v, t)
		e.watches.see(v, t)
	}
	e.watches.catchUp(v)
	e.settle(v)
}

// concerns says whether anything can follow from a task; of most changes nothing does.
func (e *ends) concerns(t *spec.Task) bool {
	return t.DesiredStatus == spec.Stopped || t.Held() || len(e.watches.by) > 0
}

// hold notes what a task waits for; what can never come true ends it.
func (e *ends) hold(v *raftfsm.View, t *spec.Task) {
	for _, after := range t.WaitsFor() {
		if after.Group != "" && after.Group != t.Group {
			e.watches.add(v, t, after)
			continue
		}
		met, never := batch.Verdict(v, t, after)
		switch {
		case met:
			e.release(t.ID, after)
		case never != "":
			e.giveUp(t.ID, after, never)
		default:
			e.watches.add(v, t, after)
		}
	}
}

// look finds what follows for the task itself and for its gang.
func (e *ends) look(v *raftfsm.View, t *spec.Task) {
	if t.DesiredStatus != spec.Stopped {
		return
	}
	if t.Gang != nil {
		if e.gangsSeen[t.Gang.ID] {
			return
		}
		e.gangsSeen[t.Gang.ID] = true
		tasks, reason := batch.Stops(v, t.Gang.ID)
		for _, mate := range tasks {
			e.stop(mate.ID, reason)
		}
	}
	if t.LastStatus == spec.Stopped {
		if again := batch.Again(v, t, e.cfg.Now(), newTaskID); again != nil {
			e.retries = append(e.retries, again)
		}
	}
}

// settle ends what is waited for and has come true, or never can.
func (e *ends) settle(v *raftfsm.View) {
	for _, w := range e.watches.over() {
		for _, id := range slices.Sorted(maps.Keys(w.waiting)) {
			if w.never == "" {
				e.release(id, w.after)
			} else {
				e.giveUp(id, w.after, w.never)
			}
		}
	}
	clear(e.gangsSeen)
}

func (e *ends) release(id string, after spec.After) {
	e.releases = append(e.releases, raftfsm.Release{TaskID: id, After: []string{after.String()}})
}

// giveUp ends a task that waits in vain.
func (e *ends) giveUp(id string, after spec.After, why string) {
	e.stop(id, fmt.Sprintf("It waited for %s (%s): %s", after, spec.TagAfter, why))
}

func (e *ends) stop(id, reason string) {
	e.stops = append(e.stops, raftfsm.StopTask{ID: id, Code: spec.StopScheduler, Reason: reason, At: e.cfg.Now()})
}

// carryOut records what was found. After an error what is left is found again from the state.
func (e *ends) carryOut(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(stopsAtOnce)
	for _, stop := range e.stops {
		group.Go(func() error {
			_, err := e.record(ctx, stop)
			if errors.Is(err, spec.ErrNotFound) {
				return nil
			}
			return err
		})
	}
	for _, tasks := range together(e.retries) {
		group.Go(func() error {
			_, err := e.record(ctx, raftfsm.RetryTasks{Tasks: tasks})
			return err
		})
	}
	for some := range slices.Chunk(e.releases, recordsAtOnce) {
		group.Go(func() error {
			_, err := e.record(ctx, raftfsm.ReleaseTasks{Releases: some})
			return err
		})
	}
	e.stops, e.retries, e.releases = nil, nil, nil
	return group.Wait()
}

// together makes few entries of many groups, without dividing one.
func together(groups [][]*spec.Task) (entries [][]*spec.Task) {
	for _, group := range groups {
		last := len(entries) - 1
		if last < 0 || len(entries[last])+len(group) > recordsAtOnce {
			entries = append(entries, group)
		} else {
			entries[last] = append(entries[last], group...)
		}
	}
	return entries
}
