package raftfsm

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Reap deletes what is over: tasks that stopped before Before, unless their gang or their work goes on, clusters and capacity providers that
// were deleted before that, task definitions that were deleted and have no task any more, and client tokens and join tokens that were used
// or ended before TokensBefore. The GPU time of the tasks is remembered by team. Answer: int, the number of tasks deleted.
type Reap struct{ Before, TokensBefore time.Time }

// apply goes through what refers to others before them.
func (c Reap) apply(tx *tx) (any, error) {
	tasks := 0
	for _, table := range slices.Backward(tables) {
		deleted := table.reap(tx, c)
		if _, ok := table.newObject().(*spec.Task); ok {
			tasks = deleted
		}
	}
	return tasks, nil
}

// HasExpired says whether Reap would delete something. It costs no more than that.
func (v *View) HasExpired(r Reap) bool {
	return slices.ContainsFunc(tables, func(table anyTable) bool { return table.hasExpired(v, r) })
}
