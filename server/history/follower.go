package history

import (
	"context"
	"errors"
	"time"

	"pinion/packaging/backoff"
	"pinion/packaging/tick"
	"pinion/raftfsm"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/batch"
)

const (
	maxChanges = 10_000 // of the state that are read at once
	maxAdded   = 2_000  // tasks of one transaction
)

// errOtherPool is why a store is set aside that was made for another pool.
var errOtherPool = errors.New("the history is of another pool")

// follower adds the tasks that end to a store, as they end in the state. The store has the position in the log up to which it has all
// of them (Cursor): the follower goes on there when it starts. What the changes do not tell any more is in the state for an hour. When
// tasks were removed from the state that the store may not have (raftfsm.View.Reaped), there is a gap.
type follower struct {
	*History
	store  *Store
	cursor Cursor // of what is on disk, and further when no task has ended since
	saved  Cursor // on disk
}

// follow follows the state until ctx ends, or the store fails.
func (f *follower) follow(ctx context.Context) error {
	m, err := f.store.meta()
	if err != nil {
		return err
	}
	f.cursor, f.saved = m.Cursor, m.Cursor
	if len(m.Gaps) > 0 {
		f.logGap(m.Gaps[len(m.Gaps)-1])
	}
	prune := tick.New(pruneInterval)
	defer prune.Stop()
	for {
		changed, err := f.catchUp()
		if err != nil {
			return err
		}
		reached := f.cursor
		f.reached.Store(&reached)
		f.ready.Store(f.cursor.Pool != "")
		select {
		case <-changed:
			_ = backoff.Sleep(ctx, flushDelay) // what ends together is written together
		case <-prune.C:
			if err := f.prune(); err != nil {
				return err
			}
		case err := <-f.broken:
			return err
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			_, err := f.catchUp()
			return errors.Join(err, f.save())
		}
	}
}

// catchUp adds all that has ended; changed is closed at the next change.
func (f *follower) catchUp() (changed <-chan struct{}, err error) {
	for {
		v, end := f.cfg.State.View(), f.cfg.State.ChangesEnd()
		pool := v.Pool()
		if pool != nil && f.cursor.Pool != "" && f.cursor.Pool != pool.ID {
			return nil, errOtherPool
		}
		if pool != nil && f.cursor.Pool != "" && f.cursor.Incarnation < v.Settings().Incarnation { // a lower one: the log is being read again
			if err := f.rebuild(v, true); err != nil {
				return nil, err
			}
			continue
		}
		changes, changed, err := f.cfg.State.Changes(f.cursor.Position, maxChanges)
		if errors.As(err, new(*raftfsm.CompactedError)) {
			if err := f.rebuild(f.cfg.State.View(), false); err != nil {
				return nil, err
			}
			continue
		}
		if pool == nil {
			return changed, nil
		}
		if len(changes) == 0 {
			f.moveTo(v, end) // which is from before: all changes up to there were read
			return changed, f.saveIfReaped(v)
		}
		if err := f.apply(changes); err != nil {
			return nil, err
		}
	}
}

// apply adds the tasks that ended in changes.
func (f *follower) apply(changes []*raftfsm.Change) error {
	v := f.cfg.State.View()
	var tasks []*spec.Task
	for _, c := range changes {
		if t := c.Task(); t != nil && t.LastStatus == spec.Stopped {
			tasks = append(tasks, t)
		}
	}
	f.setCursor(v, changes[len(changes)-1].Position)
	if len(tasks) == 0 {
		return nil
	}
	return f.add(v, tasks, nil)
}

// rebuild adds what the state has of stopped tasks. The cursor is then at the view; gone says that the store's own position means
// nothing any more, because the pool was recovered.
func (f *follower) rebuild(v *raftfsm.View, gone bool) error {
	if v.Pool() == nil {
		f.cursor.Position = raftfsm.PositionAfter(v.Index())
		return nil
	}
	var tasks []*spec.Task
	for _, t := range v.Tasks("") {
		if t.LastStatus == spec.Stopped {
			tasks = append(tasks, t)
		}
	}
	before := f.cursor
	if gone {
		f.cursor.Position = raftfsm.Position{}
	}
	f.moveTo(v, raftfsm.PositionAfter(v.Index()))
	reaped := raftfsm.PositionAfter(v.Reaped())
	if v.Reaped() == 0 || !gone && before.Position.Compare(reaped) >= 0 {
		return f.add(v, tasks, nil)
	}
	gap := ended.Gap{From: before.At, To: f.cfg.Now()}
	if gone {
		gap.From = time.Time{}
	}
	f.logGap(gap)
	if err := f.add(v, tasks, &gap); err != nil {
		return err
	}
	select {
	case f.filled <- struct{}{}:
	default:
	}
	return nil
}

// moveTo moves the cursor to a position, never back.
func (f *follower) moveTo(v *raftfsm.View, position raftfsm.Position) {
	if f.cursor.Position.Compare(position) > 0 {
		position = f.cursor.Position
	}
	f.setCursor(v, position)
}

// setCursor sets the cursor. While the log is read again, the incarnation of a view may be an earlier one.
func (f *follower) setCursor(v *raftfsm.View, position raftfsm.Position) {
	f.cursor = Cursor{v.Pool().ID, max(f.cursor.Incarnation, v.Settings().Incarnation), position, f.cfg.Now()}
}

func (f *follower) logGap(gap ended.Gap) {
	f.cfg.Log.Warn("the history of ended tasks is incomplete, what is missing is fetched from the other servers if they have it", "from", gap.From, "to", gap.To)
}

// add writes tasks, and with the last of them the cursor and a gap, which may be nil.
func (f *follower) add(v *raftfsm.View, tasks []*spec.Task, gap *ended.Gap) error {
	for {
		part := tasks[:min(len(tasks), maxAdded)]
		tasks = tasks[len(part):]
		records := make([]ended.Task, len(part))
		for i, t := range part {
			records[i] = endedTask(v, t)
		}
		err := f.store.Add(records, func(m *meta) {
			if len(tasks) > 0 {
				return
			}
			m.Cursor = f.cursor
			if gap != nil {
				m.Gaps = addGap(m.Gaps, *gap)
			}
		})
		if err != nil {
			return err
		}
		if len(tasks) == 0 {
			f.saved = f.cursor
			return nil
		}
	}
}

// endedTask is the record of a task that is STOPPED.
func endedTask(v *raftfsm.View, t *spec.Task) ended.Task {
	e := ended.Task{Task: *t, Outcome: outcome(v, t)}
	if host := v.Host(t.HostID); host != nil {
		e.Host = host.Name
	}
	return e
}

func outcome(v *raftfsm.View, t *spec.Task) ended.Outcome {
	switch {
	case t.StoppedAsFailed():
		return ended.Failed
	case t.StopCode == spec.StopUserInitiated || t.StopCode == spec.StopScheduler || t.StopCode == spec.StopPreempted:
		return ended.Stopped
	case batch.Succeeded(v, t):
		return ended.Succeeded
	}
	return ended.Failed
}

// saveIfReaped writes the cursor when tasks were removed from the state behind it: a later start must not take that for a gap.
func (f *follower) saveIfReaped(v *raftfsm.View) error {
	if f.saved.Position.Compare(raftfsm.PositionAfter(v.Reaped())) >= 0 || v.Reaped() == 0 {
		return nil
	}
	return f.save()
}

// save writes the cursor when it has moved.
func (f *follower) save() error {
	if f.saved == f.cursor || f.cursor.Pool == "" {
		return nil
	}
	f.saved = f.cursor
	return f.store.Add(nil, func(m *meta) { m.Cursor = f.cursor })
}

func (f *follower) prune() error {
	for range pruneSteps {
		if more, err := f.store.Prune(f.cfg.Limits, f.cfg.Now()); err != nil || !more {
			return err
		}
	}
	return nil
}
