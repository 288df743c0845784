// Package taskupdate has the changes that people make to tasks which wait in the queue, or by which running ones return to it. It is pure: a
// change makes other tasks of tasks, or says why it cannot.
package taskupdate

import (
	"fmt"
	"strconv"
	"time"

	"pinion/raftfsm/spec"
)

// Update is one change; the member that is set says which.
type Update struct {
	Hold     *spec.TaskHold // keeps pending tasks out of the queue; an administrator's takes the place of another one
	Release  *Release
	Priority *int // of pending tasks
	Requeue  *Requeue
}

// Release lets a task that is held into the queue again.
type Release struct {
	Admin bool // the caller has the role admin, without which nobody releases what an administrator holds
}

// Requeue stops a task that has a host, and has its work done again from the queue as after a preemption: without an attempt lost.
type Requeue struct {
	Reason string
	At     time.Time
}

// Apply returns the tasks that the change makes of a task: of its whole gang, or why of none. What a task is already is not changed. What one
// of a gang does that is requeued, its gang does with it.
func (e Update) Apply(t *spec.Task, gang []*spec.Task) (changed []*spec.Task, why string) {
	if t.Gang == nil || e.Requeue != nil {
		gang = []*spec.Task{t}
	}
	for _, member := range gang {
		task, why := e.apply(member)
		if why != "" {
			return nil, why
		}
		if task != member {
			task.Version++
			changed = append(changed, task)
		}
	}
	return changed, ""
}

func (e Update) apply(t *spec.Task) (*spec.Task, string) {
	if e.Requeue != nil {
		return e.Requeue.apply(t)
	}
	switch {
	case t.LastStatus == spec.Stopped:
		return nil, "it has stopped"
	case t.LastStatus != spec.Provisioning:
		return nil, "it has its place already: it is " + string(t.LastStatus)
	}
	task := *t
	switch {
	case e.Hold != nil && (t.Hold == nil || e.Hold.Admin && !t.Hold.Admin):
		task.Hold = e.Hold
	case e.Release != nil && t.Hold != nil && t.Hold.Admin && !e.Release.Admin:
		return nil, fmt.Sprintf("an administrator holds it, and only one can release it: %s", t.Hold)
	case e.Release != nil && t.Hold != nil:
		task.Hold = nil
	case e.Priority != nil:
		tags, err := spec.ChangeTags(t.Tags, []spec.Tag{{Key: spec.TagPriority, Value: strconv.Itoa(*e.Priority)}}, nil)
		if err != nil {
			return nil, err.Error()
		}
		if tags == nil {
			return t, ""
		}
		task.Tags = tags
	default:
		return t, ""
	}
	return &task, ""
}

func (r *Requeue) apply(t *spec.Task) (*spec.Task, string) {
	switch {
	case t.LastStatus == spec.Provisioning:
		return nil, "it waits in the queue already"
	case t.LastStatus == spec.Stopped:
		return nil, "it has stopped: pinion run " + t.Definition + " runs another one of its definition"
	case t.DesiredStatus == spec.Stopped && t.StopCode != spec.StopPreempted:
		return nil, "it is being stopped"
	}
	return t.WithStop(spec.StopPreempted, r.Reason, r.At, false), ""
}
