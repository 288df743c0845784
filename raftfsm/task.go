package raftfsm

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pinion/raftfsm/spec"
)

// StopTask sets the desired status to STOPPED. A task that has no host yet is STOPPED at once. Stopping a task again changes
// nothing, but that a user's stop takes the place of the pool's while the task is not STOPPED: what a user has stopped is
// not done again. ErrNotFound. Answer: *Task.
type StopTask struct {
	ID     string
	Code   spec.StopCode
	Reason string
	At     time.Time
}

func (c StopTask) apply(tx *tx) (any, error) {
	known := tx.Task(c.ID)
	if known == nil {
		return nil, fmt.Errorf("task %q: %w", c.ID, spec.ErrNotFound)
	}
	if known.DesiredStatus == spec.Stopped && !(c.Code == spec.StopUserInitiated && stoppedByPool(known)) {
		return known, nil
	}
	task := *known
	task.DesiredStatus, task.StopCode, task.StoppedReason = spec.Stopped, c.Code, c.Reason
	task.Times.Stopping = cmp.Or(known.Times.Stopping, c.At)
	if task.HostID == "" {
		task.Times.Stopped = c.At
		markStopped(&task)
	}
	task.Version++
	tx.put(tableTasks, &task)
	return &task, nil
}

// stoppedByPool reports whether the pool is stopping the task, which may mean to do its work again.
func stoppedByPool(t *spec.Task) bool {
	return t.LastStatus != spec.Stopped && (t.StopCode == spec.StopScheduler || t.StopCode == spec.StopPreempted)
}

// markStopped makes the task STOPPED: its containers are gone, and what it held is free from now on.
func markStopped(t *spec.Task) {
	t.LastStatus, t.DesiredStatus = spec.Stopped, spec.Stopped
	t.Containers = slices.Clone(t.Containers)
	for i := range t.Containers {
		t.Containers[i].LastStatus = spec.Stopped
	}
}

// retryInProgress says whether the work of a task that stopped goes on as another task: who waits for that work may know it by any
// of the tasks that did it, and so may a client token.
func (v *View) retryInProgress(t *spec.Task) bool {
	last := tasksByAttempt.last(v, cmp.Or(t.RetryOf, t.ID))
	return last != nil && last.LastStatus != spec.Stopped
}
