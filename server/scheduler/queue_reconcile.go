package scheduler

import (
	"fmt"
	"time"

	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// reconcileTask puts a task where it belongs: into the queue, among the placed tasks, or nowhere.
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
		options := t.SchedulingOptions()
		w.placed.track(t, options, now)
		if milli := t.GPUMilli(); milli > 0 {
			w.queue.Teams.StartUsage(t.ID, options.Team, milli, startedAt(t, now), now)
		}
	}
}

// dequeue takes the task out of the queue.
func (w *queueController) dequeue(task string) {
	w.queue.Remove(task)
	delete(w.pauses, task)
	delete(w.victimsByItem, task)
}

// enqueueTask adds a pending task to the queue when nothing holds it back; a gang when that is so of all its tasks.
func (w *queueController) enqueueTask(view *raftfsm.View, t *spec.Task, now time.Time) {
	tasks := gangOrTask(view, t)
	if t.Gang != nil {
		if t.Gang.Rank > 0 && w.queue.Contains(t.ID) {
			return // with its gang
		}
		if len(tasks) < t.Gang.Size {
			return // some have ended
		}
	}
	for _, task := range tasks {
		if !w.ready(task, now) {
			w.queue.Remove(t.ID)
			return
		}
	}
	if definition := view.Definition(t.Definition); definition != nil {
		item := itemOf(view, tasks, spec.Effective(definition, t.Overrides.Get()))
		item.Payload = &pendingUnit{tasks, definition}
		w.queue.Add(item)
	}
}

// pendingUnit is the payload of a queue item: what it was made of.
type pendingUnit struct {
	tasks      []*spec.Task // one, or a gang by rank
	definition *spec.TaskDefinition
}

// gangOrTask is the task, or its whole gang by rank: the tasks that are placed together.
func gangOrTask(view *raftfsm.View, t *spec.Task) []*spec.Task {
	if t.Gang == nil {
		return []*spec.Task{t}
	}
	return view.Gang(t.Gang.ID)
}

// ready reports whether the task may be placed now. A hold, a dependency, an earlier placement in flight, or a moment can keep it
// back.
func (w *queueController) ready(t *spec.Task, now time.Time) bool {
	if t.LastStatus != spec.Provisioning || t.Held() || t.Blocked() || w.isCommitting(t.ID) {
		return false
	}
	return w.pauses.isOver(t, now)
}

// isCommitting reports whether the placement of the task is in flight.
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
	view := w.node.State().View()
	for _, id := range item.Tasks {
		if task := view.Task(id); task != nil {
			w.reconcileTask(view, task, now)
		}
	}
}

// itemOf is the queue item of a task, or of a whole gang.
func itemOf(view *raftfsm.View, tasks []*spec.Task, definition *spec.TaskDefinition) *queue.Item {
	t := tasks[0]
	options, request := t.SchedulingOptions(), schedule.RequestFor(view, t, definition)
	item := &queue.Item{
		Cluster:  t.Cluster,
		Team:     options.Team,
		Priority: options.Priority,
		First:    t.Service != nil && view.ServiceRevision(t.Service.Deployment).IsCritical(),
		Since:    t.CreatedAt,
		Limit:    options.TimeLimit,
		GPUs:     milliOf(view, request),
		Class:    schedule.ClassKey(request),
	}
	for _, task := range tasks {
		item.Tasks = append(item.Tasks, task.ID)
	}
	if t.ArrayIndex != nil {
		item.Since = item.Since.Add(time.Duration(*t.ArrayIndex)) // the tasks of an array in the order of their index
	}
	if t.Gang != nil {
		item.Class += fmt.Sprintf("\x00gang of %d", len(tasks))
	}
	return item
}

// milliOf is the demand for GPUs in thousandths of one. A demand for every GPU of a host counts as that of the largest host, a share as that of
// the smallest GPU on which it fits, MIG devices as the smallest ones, and alternatives as the greatest.
func milliOf(view *raftfsm.View, r schedule.Request) int {
	demand, cluster := spec.DemandOf(r.Definition), r.Run.Cluster
	if milli, asks := schedule.MIGMilli(view.Hosts(cluster), r); asks {
		return milli
	}
	if share := demand.ShareMiB(); share > 0 {
		return gpuuse.MilliOf(share, smallestShared(view, cluster, share))
	}
	if !demand.WantsAllGPUs() {
		return schedule.MostGPUs(r.Run.Tags, demand) * gpuuse.Milli
	}
	most := 1
	for _, host := range view.Hosts(cluster) {
		most = max(most, gpu.WholeGPUs(host.GPUs.Devices))
	}
	return most * gpuuse.Milli
}

// smallestShared is the memory of the smallest GPU of a cluster that can be shared and has so much; 0: there is none.
func smallestShared(view *raftfsm.View, cluster string, mib int64) (smallest int64) {
	if mib == 0 {
		return 0
	}
	for _, host := range view.Hosts(cluster) {
		if !host.SharesGPUs() {
			continue
		}
		for i := range host.GPUs.Devices {
			if total := host.GPUs.Devices[i].MemoryMiB; total >= mib && (smallest == 0 || total < smallest) {
				smallest = total
			}
		}
	}
	return smallest
}

// requestOf asks for the places of an item; nil when it is not pending any more.
func requestOf(view *raftfsm.View, item *queue.Item) *schedule.Request {
	task := view.Task(item.ID())
	if task == nil || task.LastStatus != spec.Provisioning {
		return nil
	}
	r := schedule.RequestFor(view, task, spec.Effective(view.Definition(task.Definition), task.Overrides.Get()))
	r.Run.Count = len(item.Tasks)
	return &r
}
