package raftfsm

import (
	"fmt"
	"time"

	"pinion/raftfsm/image"
	"pinion/raftfsm/ledger"
	"pinion/raftfsm/spec"
)

// LaunchTasks records placed tasks of many runs in one entry. A run is recorded as a whole or not at all. Each task is
// checked again with Fits against the present state, including the runs before it in the entry. When a host is gone, lost
// or not ACTIVE, a GPU is held by another task or a resource is exhausted, all tasks of the run come back in Refused, to be
// planned again (with the same token, which stays unused). A run with a known token gets the first result (or
// TokenConflict). A task without a host is PROVISIONING: it waits for PlaceTasks. Answer: []LaunchResult, in the order of
// Runs.
type LaunchTasks struct{ Runs []Launch }

// Launch is the placed tasks of one run, and the failures to record with its token.
type Launch struct {
	Cluster   string
	Token     string // empty: no token to record
	TokenHash string
	Tasks     []*spec.Task
	Failures  []spec.Failure
	At        time.Time
}

// LaunchResult is the result of one Launch: the recorded tasks, or the error that refused the whole run (Err).
type LaunchResult struct {
	Result   spec.RunResult
	Refused  []*spec.Task // the placement conflicts with the state; nothing was recorded
	Conflict string       // cause of the conflict, for the log
	Err      error        // permanent: TokenConflict, ErrLimit, ErrKeyRemoved, ErrNotFound or ErrInactive of cluster and definition
}

func (c LaunchTasks) apply(tx *tx) (any, error) {
	results, left := make([]LaunchResult, 0, len(c.Runs)), ledger.New(&tx.View)
	for i := range c.Runs {
		results = append(results, c.Runs[i].apply(tx, left))
	}
	return results, nil
}

func (l *Launch) apply(tx *tx, left *ledger.Ledger) LaunchResult {
	before, err := tx.ClientTokenResult(l.Cluster, l.Token, l.TokenHash)
	if err != nil {
		return LaunchResult{Err: err}
	}
	if before != nil {
		return LaunchResult{Result: *before}
	}
	if err := l.check(&tx.View); err != nil {
		return LaunchResult{Err: err}
	}
	if why := l.conflict(&tx.View, left); why != "" {
		left.Rollback(l.Tasks)
		return LaunchResult{Refused: l.Tasks, Conflict: why}
	}
	var definition *spec.TaskDefinition
	for i, task := range l.Tasks {
		if i == 0 || task.Definition != l.Tasks[i-1].Definition { // they are mostly of one
			definition = tx.Definition(task.Definition)
		}
		l.Tasks[i] = image.Resolve(&tx.View, task, definition)
		tx.put(tableTasks, l.Tasks[i])
	}
	l.storeClientToken(tx)
	return LaunchResult{Result: spec.RunResult{Tasks: l.Tasks, Failures: l.Failures}}
}

// check returns the errors that no other placement could avoid.
func (l *Launch) check(v *View) error {
	if err := v.checkActive(l.Cluster); err != nil {
		return err
	}
	for i, task := range l.Tasks {
		if i > 0 && task.Definition == l.Tasks[i-1].Definition {
			continue // all tasks of a run have one definition
		}
		definition := v.Definition(task.Definition)
		if definition == nil {
			return fmt.Errorf("task definition %q: %w", task.Definition, spec.ErrNotFound)
		}
		if definition.Status != spec.DefinitionActive {
			return fmt.Errorf("task definition %q: %w", task.Definition, spec.ErrInactive)
		}
	}
	return l.checkLimits(v)
}

// checkLimits refuses tasks beyond the limits of their key and of the pool.
func (l *Launch) checkLimits(v *View) error {
	more, holder := spec.TallyOf(l.Tasks)
	return v.CheckTasks(l.Cluster, holder, more)
}

// conflict returns the conflict of a task of the run, "" when every task is placed or waits.
func (l *Launch) conflict(v *View, left *ledger.Ledger) string {
	for _, task := range l.Tasks {
		switch {
		case v.Task(task.ID) != nil:
			return fmt.Sprintf("task id %s is used already", task.ID)
		case task.Cluster != l.Cluster:
			return fmt.Sprintf("task %s is not in cluster %s", task.ID, l.Cluster)
		case task.HostID == "" && task.LastStatus == spec.Provisioning:
			continue
		}
		if why := left.Reserve(task); why != "" {
			return why
		}
	}
	return ""
}

func (l *Launch) storeClientToken(tx *tx) {
	if l.Token == "" || len(l.Tasks) == 0 {
		return
	}
	used := &clientToken{Cluster: l.Cluster, Token: l.Token, Hash: l.TokenHash, TaskIDs: make([]string, len(l.Tasks)), Failures: l.Failures, At: l.At}
	for i, task := range l.Tasks {
		used.TaskIDs[i] = task.ID
	}
	tx.put(tableClientTokens, used)
}
