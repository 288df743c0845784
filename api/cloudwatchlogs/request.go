package cloudwatchlogs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pinion/api/auth"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/ended"
	"pinion/raftfsm/spec"
)

// Logs reads what a container wrote, on whichever host that is.
type Logs interface {
	// Read calls emit for each line of the container of the task that the query asks for, oldest first; it does not follow.
	// An error of emit ends it and is returned. Any other error says that the host cannot tell.
	Read(ctx context.Context, task *spec.Task, q spec.LogQuery, emit func(spec.LogLine) error) error
}

// Request is one request for one operation. It is used by one goroutine.
type Request struct {
	Region      string           // of every ARN in the answer
	KeyClusters auth.KeyClusters // the only clusters whose tasks the caller may know of
	Grant       accesskey.Grant  // has the only teams of whose tasks the caller may know
	View        *raftfsm.View    // linearizable
	Logs        Logs             // safe for concurrent use
	Warnings    []string         // what the answer lacks, for people

	Ended Ended                           // tasks that the state has forgotten; nil: they are not known
	Sees  func(cluster, team string) bool // which of those the caller may know of

	Store Store            // for changes
	Now   func() time.Time // time stamps of records
}

// Ended is the history of tasks that have ended.
type Ended interface {
	// Find lists tasks, the one that stopped last first.
	Find(q ended.Query) (ended.Page, error)
	// Task is one task, nil when it is not known.
	Task(id string) (*ended.Task, error)
}

// Store is the replicated state as operations change it; they read the view of their request.
type Store interface {
	// Propose records a command and returns its answer; refusals are raftfsm's errors, wrapped.
	Propose(ctx context.Context, c raftfsm.Command) (any, error)
}

// tasks are those of the clusters in the scope.
func (c *Request) tasks() []*spec.Task {
	if c.KeyClusters == "" {
		return c.visible(c.View.Tasks(""))
	}
	var all []*spec.Task
	for cluster := range c.KeyClusters.Set().Names() {
		all = append(all, c.View.Tasks(cluster)...)
	}
	return c.visible(all)
}

// visible are those of the tasks that the caller may know of.
func (c *Request) visible(tasks []*spec.Task) []*spec.Task {
	if len(c.Grant.Teams) == 0 {
		return tasks
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(t *spec.Task) bool { return !auth.SeesTask(c.Grant, t) })
}

// definitions are the task definitions that the caller may know of: those of the scope, and those that tasks in its clusters were run
// with, whose logs it may read.
func (c *Request) definitions() []*spec.TaskDefinition {
	all := c.View.Definitions("")
	if c.KeyClusters == "" {
		return all
	}
	run := map[string]bool{}
	for _, task := range c.tasks() {
		run[task.Definition] = true
	}
	return slices.DeleteFunc(all, func(d *spec.TaskDefinition) bool { return !c.KeyClusters.MayUse(c.View, d) && !run[d.Name()] })
}

func (c *Request) warn(format string, args ...any) {
	c.Warnings = append(c.Warnings, fmt.Sprintf(format, args...))
}
