package server

import (
	"slices"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// listQueue is Queue, but for what hosts lack.
func (w *queueController) listQueue(cluster string) []queueEntry {
	view, now := w.state.View(), w.cfg.Now()
	var list, held []queueEntry
	for _, each := range view.Clusters() {
		if cluster != "" && each.Name != cluster {
			continue
		}
		for i, item := range w.queue.Snapshot(each.Name, now).List() {
			if task := view.Task(item.ID()); task != nil && task.LastStatus == spec.Provisioning {
				entry := w.queueEntryOf(view, task)
				entry.Position = i + 1
				list = append(list, entry)
			}
		}
	}
	for task := range view.QueuedTasks(cluster) {
		if !w.queue.Contains(task.ID) && !w.isCommitting(task.ID) && (task.Gang == nil || task.Gang.Rank == 0) {
			held = append(held, w.queueEntryOf(view, task))
		}
	}
	slices.SortStableFunc(held, func(a, b queueEntry) int { return a.Since.Compare(b.Since) })
	return append(list, held...)
}

// queueEntryOf is a task that waits, but for its place and for what hosts lack.
func (w *queueController) queueEntryOf(view *raftfsm.View, t *spec.Task) queueEntry {
	terms := t.SchedulingOptions()
	q := queueEntry{view: view, infeasible: w.infeasible, task: t, item: w.queue.Item(t.ID)}
	q.QueueItem = spec.QueueItem{TaskID: t.ID, Tasks: 1, Cluster: t.Cluster, Group: t.Group, Team: terms.Team, Priority: terms.Priority,
		CPU: t.CPU, MemoryMiB: t.MemoryMiB, Since: t.CreatedAt}
	if t.Gang != nil {
		q.Tasks = t.Gang.Size
	}
	if definition := view.Definition(t.Definition); definition != nil {
		q.definition = spec.Effective(definition, t.Overrides)
		q.GPUs = max(0, spec.DemandOf(q.definition).TotalGPUs())
	}
	switch {
	case t.Blocked():
		var words []string
		for _, after := range t.Dependencies() {
			words = append(words, after.String())
		}
		q.WaitReason = strings.Join(words, " ") + " to end (" + spec.TagAfter + ")"
	case !w.notBefore[t.ID].IsZero():
		q.WaitReason = w.notBefore[t.ID].UTC().Format(time.RFC3339) + ", before which it is not tried again"
	case w.isCommitting(t.ID):
		q.WaitReason = "nothing: it has a place, which is being recorded"
	case q.item == nil:
		q.WaitReason = "the other tasks of its gang, which are not all in line"
	default:
		q.WaitReason = w.shortReason(t)
	}
	return q
}

// shortReason is what a task in line waits for, in a few words.
func (w *queueController) shortReason(t *spec.Task) string {
	head := w.queue.Head(t.Cluster)
	if head == nil || slices.Contains(head.Tasks, t.ID) {
		return "room on a host"
	}
	return "its turn"
}
