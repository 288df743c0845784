package raftfsm

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"

	"pinion/raftfsm/command"
	"pinion/raftfsm/sortkey"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/table"
)

var (
	tableTasks = register(noun[spec.Task]{
		table:    "tasks",
		indexes:  []*table.Index[spec.Task]{tasksByID, tasksByCluster, tasksByHost, tasksStopped, tasksQueued, tasksByGang, tasksByAttempt, tasksByRun, tasksByService},
		refersTo: []string{"clusters", "hosts", "definitions", "usage", "services"},
		commands: []kind{
			compactKindOf[LaunchTasks](24, 1), compactKindOf[PlaceTasks](25, 1), compactKindOf[RetryTasks](26, 1), compactKindOf[ReportTasks](27, 1),
			kindOf[StopTask](28, 1), kindOf[ResolveDependencies](29, 1),
			kindOf[EditTasks](38, 1), kindOf[RecordDrained](39, 1),
		},
		changes: func(before, after *spec.Task) []*Change {
			if after == nil || before != nil && before.LastStatus == spec.Stopped {
				return nil // it was STOPPED before
			}
			return []*Change{{Kind: TaskChange, ClusterName: after.Cluster, Object: after}}
		},
		emits:   []ChangeKind{TaskChange},
		expired: expiredTasks,
		afterReap: func(tx *tx, gone []*spec.Task, r Reap) {
			tx.reaps = len(gone) > 0
			tx.recordUsage(gone, r.Before)
		},
		keepsCluster: func(v *View, cluster string) error { // those of a service do not: it does
			if slices.ContainsFunc(v.Tasks(cluster), func(t *spec.Task) bool { return t.LastStatus != spec.Stopped && t.Service == nil }) {
				return spec.ErrClusterHasTasks
			}
			return nil
		},
		tags: &tagging[spec.Task]{
			kind: spec.ResourceTask, find: (*View).Task, tags: func(t *spec.Task) *[]spec.Tag { return &t.Tags },
			readOnly: func(t *spec.Task) error { return inactiveIf(t.LastStatus == spec.Stopped, spec.ResourceTask, t.ID) },
			check:    spec.GangStays,
			change:   func(t *spec.Task) { t.Version++ },
		},
	})
	tasksByID      = table.By(taskID)
	tasksByCluster = table.By(taskCluster).Then(taskID).HashPrefix()
	tasksQueued    = table.By(taskCluster).Then(taskID).HashPrefix().Where(func(t *spec.Task) bool { return t.LastStatus == spec.Provisioning })
	tasksStopped   = table.ByNumber(stoppedAt).Then(taskID).Where(func(t *spec.Task) bool { return t.LastStatus == spec.Stopped })
	// The tasks of a host, the running ones first.
	tasksByHost = table.By(func(t *spec.Task) string { return t.HostID }).ThenNumber(stoppedRank).Then(taskID).
			Where(func(t *spec.Task) bool { return t.HostID != "" })
	tasksByGang = table.By(func(t *spec.Task) string { return t.Gang.ID }).ThenNumber(func(t *spec.Task) int64 { return int64(t.Gang.Rank) }).Then(taskID).
			Where(func(t *spec.Task) bool { return t.Gang != nil })
	// The attempts after a first task, by that task and the attempt number.
	tasksByAttempt = table.By(func(t *spec.Task) string { return t.RetryOf }).ThenNumber(func(t *spec.Task) int64 { return int64(t.Attempt) }).Then(taskID).
			Where(func(t *spec.Task) bool { return t.RetryOf != "" })
	// The tasks that share their images' digests: at first those that have them, then those that may need them.
	tasksByRun = table.By(func(t *spec.Task) string { return t.Run }).ThenNumber(runRank).Then(taskID).Where(func(t *spec.Task) bool { return t.Run != "" })
)

func taskID(t *spec.Task) string      { return t.ID }
func taskCluster(t *spec.Task) string { return t.Cluster }
func stoppedAt(t *spec.Task) int64    { return sortkey.Time(t.Times.Stopped) }

// stoppedRank is 1 for a task that holds no resources any more.
func stoppedRank(t *spec.Task) int64 {
	if t.LastStatus == spec.Stopped {
		return 1
	}
	return 0
}

// runRank is 0 for a task whose images are resolved, and 1 for one whose images may still be.
func runRank(t *spec.Task) int64 {
	if t.Resolved() {
		return 0
	}
	return 1 + stoppedRank(t)
}

// StoppedTasks returns the number of STOPPED tasks, and visits them in the order of their ends.
func StoppedTasks(v *View) (int, iter.Seq[*spec.Task]) {
	return tasksStopped.Len(v), tasksStopped.All(v)
}

// firstOfRun is the first task of a run that has that rank, nil when there is none.
func (v *View) firstOfRun(run string, rank int64) *spec.Task {
	for t := range tasksByRun.Seek(v, sortkey.Key{First: run, Number: rank}) {
		if runRank(t) == rank {
			return t
		}
		break
	}
	return nil
}

// takeDigests gives a task, which is a copy of its own, the digests of its run: those that it has already, or those of another.
func (v *View) takeDigests(task, known *spec.Task) {
	if known.Run != "" && known.Resolved() {
		task.TakeDigests(known, v.Definition(known.Definition))
	} else if known.Run != "" {
		task.TakeDigests(v.firstOfRun(known.Run, 0), v.Definition(known.Definition))
	}
}

// expiredTasks visits the tasks that stopped before Before, except tasks whose gang or retries are still active, and the one that
// knows the digests for tasks of its run that have none yet.
func expiredTasks(v *View, r Reap) iter.Seq[*spec.Task] {
	return func(yield func(*spec.Task) bool) {
		gangs := map[string]bool{}
		for task := range tasksStopped.Until(v, func(t *spec.Task) bool { return !t.Times.Stopped.Before(r.Before) }) {
			if task.Gang != nil && v.gangAlive(task.Gang.ID, gangs) || v.retryInProgress(task) || v.knowsDigests(task) {
				continue
			}
			if !yield(task) {
				return
			}
		}
	}
}

// ReportTasks records a host's reports. A report is ignored when its task is unknown, belongs to another host, or is
// STOPPED while the host still runs it; the answer names the task, so the host can stop it. Status only advances. Answer:
// []string, the ids of those tasks.
type ReportTasks struct {
	HostID  string
	Reports []spec.TaskReport
}

func (c ReportTasks) apply(tx *tx) (any, error) {
	unknown := []string{}
	for _, report := range c.Reports {
		known := tx.Task(report.TaskID)
		if known == nil || known.HostID != c.HostID {
			unknown = append(unknown, report.TaskID)
			continue
		}
		if known.LastStatus == spec.Stopped {
			if report.Status != spec.Stopped {
				unknown = append(unknown, report.TaskID)
			}
			continue
		}
		task := known.WithReport(report)
		tx.takeDigests(task, known)
		if task.LastStatus != known.LastStatus || !command.Equal(task, known) { // most reports change the status
			task.Version++
			tx.put(tableTasks, task)
		}
	}
	return unknown, nil
}

// StopTask sets the desired status to STOPPED. A task without a host is STOPPED at once. Stopping a task again is a no-op,
// except that a user's stop replaces the pool's while the task is not STOPPED: a task that a user stopped is not retried. Force,
// also of a later stop, has the host kill the containers without waiting for their stop timeouts. ErrNotFound. Answer: *Task.
type StopTask struct {
	ID     string
	Code   spec.StopCode
	Reason string
	At     time.Time
	Force  bool `level:"1"`
}

func (c StopTask) apply(tx *tx) (any, error) {
	known := tx.Task(c.ID)
	if known == nil {
		return nil, fmt.Errorf("task %q: %w", c.ID, spec.ErrNotFound)
	}
	task := known.WithStop(c.Code, c.Reason, c.At, c.Force)
	if task != known {
		task.Version++
		tx.put(tableTasks, task)
	}
	return task, nil
}

// retryInProgress reports whether a stopped task is being retried: dependencies and client tokens may name any of the
// attempts.
func (v *View) retryInProgress(t *spec.Task) bool {
	last := tasksByAttempt.Last(v, cmp.Or(t.RetryOf, t.ID))
	return last != nil && last.LastStatus != spec.Stopped
}

// knowsDigests reports whether tasks of the run have yet to get their digests from this one.
func (v *View) knowsDigests(t *spec.Task) bool {
	return t.Run != "" && v.firstOfRun(t.Run, 0) == t && v.firstOfRun(t.Run, 1) != nil
}

// RecordDrained records that no proxy has a request in flight to tasks that are to stop, and none will have one again: their hosts stop them now.
// Tasks that are not asked to stop, or have stopped, are left alone. Answer: nil.
type RecordDrained struct{ Tasks []string }

func (c RecordDrained) apply(tx *tx) (any, error) {
	for _, id := range c.Tasks {
		if known := tx.Task(id); known != nil && known.Drains() {
			task := *known
			task.Drained, task.Version = true, task.Version+1
			tx.put(tableTasks, &task)
		}
	}
	return nil, nil
}
