package server

import (
	"fmt"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// reconcileTask puts a task where it belongs: in the queue, among those that have a place, or nowhere.
func (w *queueController) reconcileTask(view *raftfsm.View, t *spec.Task, now time.Time) {
	switch {
	case t.LastStatus == spec.Provisioning:
		w.enqueueTask(view, t, now)
	case t.LastStatus == spec.Stopped:
		w.dequeue(t.ID)
		delete(w.placed, t.ID)
		w.queue.Teams.EndUsage(t.ID, t.Times.Stopped, now)
	default:
		w.dequeue(t.ID)
		terms := t.SchedulingOptions()
		w.track(t, terms)
		if gpus := len(t.GPUs()); gpus > 0 {
			w.queue.Teams.StartUsage(t.ID, terms.Team, gpus, t.Times.Started, now)
		}
	}
}

// dequeue takes the task out of the queue.
func (w *queueController) dequeue(task string) {
	w.queue.Remove(task)
	delete(w.notBefore, task)
	delete(w.victims, task)
}

// enqueueTask puts a task into the queue when nothing holds it back any more, and a gang when that is so of all its tasks.
func (w *queueController) enqueueTask(view *raftfsm.View, t *spec.Task, now time.Time) {
	tasks := gangOrTask(view, t)
	if t.Gang != nil {
		if t.Gang.Rank > 0 && w.queue.Contains(t.ID) {
			return // with its gang
		}
		if len(tasks) < t.Gang.Size {
			return // some are over
		}
	}
	for _, task := range tasks {
		if !w.ready(task, now) {
			w.queue.Remove(t.ID)
			return
		}
	}
	if definition := view.Definition(t.Definition); definition != nil {
		item := itemOf(view, tasks, spec.Effective(definition, t.Overrides))
		item.Payload = &pendingUnit{tasks, definition}
		w.queue.Add(item)
	}
}

// pendingUnit is what an item of the queue was made of, as it was followed last.
type pendingUnit struct {
	tasks      []*spec.Task // one, or a gang by rank
	definition *spec.TaskDefinition
}

// gangOrTask is a task, or its whole gang by rank: what has its places together.
func gangOrTask(view *raftfsm.View, t *spec.Task) []*spec.Task {
	if t.Gang == nil {
		return []*spec.Task{t}
	}
	return view.Gang(t.Gang.ID)
}

// ready reports whether the task may have a place now. What holds it back is a moment, or a change in the state.
func (w *queueController) ready(t *spec.Task, now time.Time) bool {
	if t.LastStatus != spec.Provisioning || t.Blocked() || w.isCommitting(t.ID) {
		return false
	}
	if t.Queue != nil && t.Queue.NotBefore.After(now) {
		w.notBefore[t.ID] = t.Queue.NotBefore
		return false
	}
	delete(w.notBefore, t.ID)
	return true
}

// isCommitting says whether the place of the task is being recorded.
func (w *queueController) isCommitting(task string) bool {
	for r := range w.committing {
		if r.ids[task] {
			return true
		}
	}
	return false
}

// requeue puts the tasks of an item where they belong now.
func (w *queueController) requeue(item *queue.Item, now time.Time) {
	view := w.state.View()
	for _, id := range item.Tasks {
		if task := view.Task(id); task != nil {
			w.reconcileTask(view, task, now)
		}
	}
}

// itemOf is a task, or a whole gang, as the queue sees it.
func itemOf(view *raftfsm.View, tasks []*spec.Task, definition *spec.TaskDefinition) *queue.Item {
	t := tasks[0]
	terms := t.SchedulingOptions()
	item := &queue.Item{
		Cluster:  t.Cluster,
		Team:     terms.Team,
		Priority: terms.Priority,
		Since:    t.CreatedAt,
		Limit:    terms.TimeLimit,
		GPUs:     gpusOf(view, t.Cluster, spec.DemandOf(definition)),
		Class:    schedule.ClassKey(requestFor(t, definition)),
	}
	for _, task := range tasks {
		item.Tasks = append(item.Tasks, task.ID)
	}
	if t.ArrayIndex != nil {
		item.Since = item.Since.Add(time.Duration(*t.ArrayIndex)) // the tasks of an array in the order of their numbers
	}
	if t.Gang != nil {
		item.Class += fmt.Sprintf("\x00gang of %d", len(tasks))
	}
	return item
}

// gpusOf is how many GPUs the demand comes to; of every GPU of a host, those of the largest host.
func gpusOf(view *raftfsm.View, cluster string, demand spec.Demand) int {
	if !demand.WantsAllGPUs() {
		return demand.TotalGPUs()
	}
	most := 1
	for _, host := range view.Hosts(cluster) {
		most = max(most, len(host.GPUs.Devices))
	}
	return most
}

// requestFor asks for a place for a task that waits.
func requestFor(t *spec.Task, definition *spec.TaskDefinition) schedule.Request {
	run := spec.RunRequest{Cluster: t.Cluster, Definition: t.Definition, Count: 1, Group: t.Group, Tags: t.Tags}
	if t.Queue != nil {
		run.Constraints, run.Strategy = t.Queue.Constraints, t.Queue.Strategy
	}
	return schedule.Request{Run: run, Definition: definition, Quiet: true}
}

// requestOf asks for the places of an item; nil when it does not wait any more.
func requestOf(view *raftfsm.View, item *queue.Item) *schedule.Request {
	task := view.Task(item.ID())
	if task == nil || task.LastStatus != spec.Provisioning {
		return nil
	}
	r := requestFor(task, spec.Effective(view.Definition(task.Definition), task.Overrides))
	r.Run.Count = len(item.Tasks)
	return &r
}
