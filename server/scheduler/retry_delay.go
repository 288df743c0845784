package scheduler

import (
	"iter"
	"time"

	"pinion/raftfsm/spec"
	"pinion/server/schedule/batch"
)

// retryDelays holds, by id, the pending tasks that have to wait before they are tried again, with the end of the wait by the clock of this
// leader. A task whose pause is over stays, with a zero time, until it is not pending any more: only what this leader has counted
// counts, and not the recorded moment, which is by the clock of whichever leader recorded it.
type retryDelays map[string]time.Time

// isOver reports whether a task need not wait. A leader that sees the task for the first time lets it wait until the recorded moment, but
// never for longer than such a pause can be.
func (p retryDelays) isOver(t *spec.Task, now time.Time) bool {
	if retryAt(t).IsZero() {
		return true
	}
	end, known := p[t.ID]
	if !known {
		end = now.Add(min(retryAt(t).Sub(now), batch.MaxBackoff))
	}
	if !end.After(now) {
		end = time.Time{}
	}
	p[t.ID] = end
	return end.IsZero()
}

// ended iterates over the tasks whose pause has ended since it was asked last.
func (p retryDelays) ended(now time.Time) iter.Seq[string] {
	return func(yield func(string) bool) {
		for id, end := range p {
			if !end.IsZero() && !end.After(now) && !yield(id) {
				return
			}
		}
	}
}

// retryAt is the moment before which a task is not placed, by the clock of the leader that recorded it; zero: none.
func retryAt(t *spec.Task) time.Time {
	if t.Queue == nil {
		return time.Time{}
	}
	return t.Queue.NotBefore
}
