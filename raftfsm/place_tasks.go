package raftfsm

import (
	"fmt"
	"iter"
	"slices"

	"pinion/raftfsm/ledger"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskupdate"
)

// QueuedTasks visits the tasks of a cluster that are PROVISIONING, of all clusters when it is empty: one cluster after the
// other, each by id.
func (v *View) QueuedTasks(cluster string) iter.Seq[*spec.Task] {
	if cluster == "" {
		return tasksQueued.All(v)
	}
	return tasksQueued.Scan(v, cluster)
}

// Gang lists the tasks of a gang by rank.
func (v *View) Gang(id string) []*spec.Task { return tasksByGang.List(v, id) }

// Attempts lists the retries of a first task, by attempt.
func (v *View) Attempts(first string) []*spec.Task { return tasksByAttempt.List(v, first) }

// PlaceTasks places tasks of the queue. Each group is placed as a whole or not at all: a gang is one group. A group is
// refused when one of its tasks no longer waits or is held, or when its placement does not fit, as in LaunchTasks. Answer: []string,
// one for each group: "" when it was placed, otherwise the conflict, for the log.
type PlaceTasks struct{ Groups [][]spec.Placement }

func (c PlaceTasks) apply(tx *tx) (any, error) {
	answers, left := make([]string, len(c.Groups)), ledger.New(&tx.View)
	for i, group := range c.Groups {
		tasks, why := tx.placeGroup(group, left)
		if answers[i] = why; why != "" {
			left.Rollback(tasks)
			continue
		}
		for _, task := range tasks {
			tx.put(tableTasks, task)
		}
	}
	return answers, nil
}

// placeGroup returns the placed tasks of a group, or the tasks before the first conflict, and the conflict.
func (tx *tx) placeGroup(group []spec.Placement, left *ledger.Ledger) (tasks []*spec.Task, why string) {
	tasks = make([]*spec.Task, 0, len(group))
	for _, placement := range group {
		known := tx.Task(placement.TaskID)
		if known == nil || known.LastStatus != spec.Provisioning {
			return tasks, fmt.Sprintf("task %s does not wait any more", placement.TaskID)
		}
		if known.Held() {
			return tasks, fmt.Sprintf("task %s is %s", known.ID, known.Hold)
		}
		task := known.WithPlacement(placement)
		if task == nil {
			return tasks, fmt.Sprintf("task %s has other containers", known.ID)
		}
		tx.takeDigests(task, known)
		if why := left.Reserve(task); why != "" {
			return tasks, why
		}
		tasks = append(tasks, task)
	}
	return tasks, ""
}

// RetryTasks records retries: each is PROVISIONING, names the first task in RetryOf and has the next attempt number. A
// recorded attempt is skipped, so each is recorded once. Answer: []string, the ids of the new tasks.
type RetryTasks struct{ Tasks []*spec.Task }

func (c RetryTasks) apply(tx *tx) (any, error) {
	recorded := []string{}
	for _, task := range c.Tasks {
		if task.RetryOf == "" || task.LastStatus != spec.Provisioning || task.Attempt != tx.nextAttempt(task.RetryOf) || tx.Task(task.ID) != nil {
			continue
		}
		if tx.checkActive(task.Cluster) != nil || tx.Definition(task.Definition) == nil {
			continue
		}
		tx.put(tableTasks, task)
		recorded = append(recorded, task.ID)
	}
	return recorded, nil
}

// nextAttempt returns the number after the last recorded attempt. Old attempts may have been reaped, but never the last
// one.
func (v *View) nextAttempt(first string) int {
	attempts := v.Attempts(first)
	if len(attempts) == 0 {
		return 1
	}
	return attempts[len(attempts)-1].Attempt + 1
}

// ResolveDependencies removes dependencies of tasks that are met. A task that does not wait for them is not changed.
// Answer: nil.
type ResolveDependencies struct{ Releases []Resolution }

// Resolution is the dependencies of one task that are met.
type Resolution struct {
	TaskID string   `json:"taskId"`
	After  []string `json:"after"` // words of its Wait.After
}

func (c ResolveDependencies) apply(tx *tx) (any, error) {
	for _, release := range c.Releases {
		known := tx.Task(release.TaskID)
		if known == nil || !known.Blocked() {
			continue
		}
		wait := *known.Queue
		wait.UnmetDependencies = slices.DeleteFunc(slices.Clone(wait.UnmetDependencies), func(word string) bool { return slices.Contains(release.After, word) })
		if len(wait.UnmetDependencies) == len(known.Queue.UnmetDependencies) {
			continue
		}
		task := *known
		task.Queue = &wait
		task.Version++
		tx.put(tableTasks, &task)
	}
	return nil, nil
}

// EditTasks makes a change to tasks, each with its gang or not at all. Answer: []string, for each id "" or why not.
type EditTasks struct {
	IDs  []string
	Edit taskupdate.Update
}

func (c EditTasks) apply(tx *tx) (any, error) {
	answers := make([]string, len(c.IDs))
	for i, id := range c.IDs {
		known, gang := tx.Task(id), []*spec.Task(nil)
		if known == nil {
			answers[i] = spec.ReasonMissing
			continue
		}
		if known.Gang != nil {
			gang = tx.Gang(known.Gang.ID)
		}
		tasks, why := c.Edit.Apply(known, gang)
		answers[i] = why
		for _, task := range tasks {
			tx.put(tableTasks, task)
		}
	}
	return answers, nil
}
