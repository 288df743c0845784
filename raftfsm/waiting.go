package raftfsm

import (
	"fmt"
	"iter"
	"time"
)

// Wait is what a place for a task in the queue has to meet, beside what its definition says.
type Wait struct {
	Constraints []PlacementConstraint `json:"constraints,omitempty"`
	Strategy    []PlacementStrategy   `json:"strategy,omitempty"`
	NotBefore   time.Time             `json:"notBefore,omitzero"` // a task that is tried again waits that long
	After       []string              `json:"after,omitempty"`    // words of TagAfter that are still to come true
}

// Seat is the place of a task in a gang: tasks of one run that start together, know of one another, and stop together.
type Seat struct {
	ID   string `json:"id"`   // of the gang, 32 hex digits
	Rank int    `json:"rank"` // 0 to Size-1
	Size int    `json:"size"`
	Port int    `json:"port,omitempty"` // TCP, on the host of rank 0, which holds it; 0 while the gang waits
}

// Waiting visits the tasks of a cluster that are PROVISIONING, of all clusters when it is empty: one cluster after the
// other, each by id.
func (v *View) Waiting(cluster string) iter.Seq[*Task] {
	if cluster == "" {
		return tasksWaiting.all(v)
	}
	return tasksWaiting.of(v, cluster)
}

// Gang lists the tasks of a gang by rank.
func (v *View) Gang(id string) []*Task { return tasksByGang.list(v, id) }

// Attempts lists the tasks that do again what a first one did, by attempt.
func (v *View) Attempts(first string) []*Task {
	return tasksByAttempt.list(v, first)
}

// PlaceTasks gives tasks of the queue their places. Each group is placed whole or not at all: a gang is one group. A group
// is refused when one of its tasks does not wait any more, or when its place is not free, as of LaunchTasks.
// Answer: []string, one for each group: "" when it was placed, else why not, for the log.
type PlaceTasks struct{ Groups [][]Placement }

// Placement is the place of one task.
type Placement struct {
	TaskID string     `json:"taskId" compact:"own"`
	HostID string     `json:"hostId"`
	GPUs   [][]string `json:"gpus,omitempty"`  // UUIDs, by container; nil when none gets any
	Ports  []int      `json:"ports,omitempty"` // TCP ports that it holds besides those of its definition
	// GangPort is the port of its gang (Seat.Port).
	GangPort int `json:"gangPort,omitempty"`
}

func (c PlaceTasks) apply(tx *tx) (any, error) {
	answers, left := make([]string, len(c.Groups)), newLedger(&tx.View)
	for i, group := range c.Groups {
		tasks, why := tx.placeGroup(group, left)
		if answers[i] = why; why != "" {
			left.forget(tasks)
			continue
		}
		for _, task := range tasks {
			tx.put(tableTasks, task)
		}
	}
	return answers, nil
}

// placeGroup is the tasks of a group at their places, and why one of them cannot have its own: then they are those before it.
func (tx *tx) placeGroup(group []Placement, left *ledger) (tasks []*Task, why string) {
	tasks = make([]*Task, 0, len(group))
	for _, placement := range group {
		known := tx.Task(placement.TaskID)
		if known == nil || known.LastStatus != Provisioning {
			return tasks, fmt.Sprintf("task %s does not wait any more", placement.TaskID)
		}
		task := known.placed(placement)
		if task == nil {
			return tasks, fmt.Sprintf("task %s has other containers", known.ID)
		}
		if why := left.take(task); why != "" {
			return tasks, why
		}
		tasks = append(tasks, task)
	}
	return tasks, ""
}

// placed is the task at its place; nil when the placement is not about its containers.
func (t *Task) placed(p Placement) *Task {
	if len(p.GPUs) > len(t.Containers) {
		return nil
	}
	task := *t
	task.HostID, task.LastStatus = p.HostID, Pending
	task.Ports = append(task.Ports[:len(task.Ports):len(task.Ports)], p.Ports...)
	task.Containers = append([]Container(nil), t.Containers...)
	for i := range task.Containers {
		task.Containers[i].LastStatus = Pending
		if i < len(p.GPUs) {
			task.Containers[i].GPUs = p.GPUs[i]
		}
	}
	if t.Gang != nil {
		seat := *t.Gang
		seat.Port = p.GangPort
		task.Gang = &seat
	}
	task.Version++
	return &task
}

// RetryTasks records tasks that do again what one before them did: each is PROVISIONING, names the first in RetryOf and
// counts on from the last attempt at it. One whose attempt is on record already changes nothing, so it happens once.
// Answer: []string, the ids of those that were recorded.
type RetryTasks struct{ Tasks []*Task }

func (c RetryTasks) apply(tx *tx) (any, error) {
	recorded := []string{}
	for _, task := range c.Tasks {
		if task.RetryOf == "" || task.LastStatus != Provisioning || task.Attempt != tx.nextAttempt(task.RetryOf) || tx.Task(task.ID) != nil {
			continue
		}
		if tx.active(task.Cluster) != nil || tx.Definition(task.Definition) == nil {
			continue
		}
		tx.put(tableTasks, task)
		recorded = append(recorded, task.ID)
	}
	return recorded, nil
}

// nextAttempt is the number of the attempt that comes after those on record. Old ones may have been forgotten, the last
// one is not.
func (v *View) nextAttempt(first string) int {
	attempts := v.Attempts(first)
	if len(attempts) == 0 {
		return 1
	}
	return attempts[len(attempts)-1].Attempt + 1
}
