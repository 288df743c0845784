package raftfsm

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// Reap deletes expired objects: tasks that stopped before Before, unless their gang or their retries are still active;
// clusters, capacity providers and services that were deleted before Before; task definitions without tasks and services that are deleted
// or have been INACTIVE since before InactiveBefore; rollouts that were over by then and whose revision is not deployed; and client tokens and join tokens that were used or ended before TokensBefore. The GPU time of the tasks is added to their team's
// usage. Answer: int, the number of tasks deleted.
type Reap struct {
	Before, TokensBefore time.Time
	InactiveBefore       time.Time `json:",omitzero" level:"1"`
}

// apply goes through what refers to others before them.
func (c Reap) apply(tx *tx) (any, error) {
	tasks := 0
	for _, table := range slices.Backward(tables) {
		deleted := table.reap(tx, c)
		if _, ok := table.NewObject().(*spec.Task); ok {
			tasks = deleted
		}
	}
	return tasks, nil
}

// HasExpired reports whether Reap would delete something. It stops at the first expired object.
func (v *View) HasExpired(r Reap) bool {
	return slices.ContainsFunc(tables, func(table anyTable) bool { return table.hasExpired(v, r) })
}
