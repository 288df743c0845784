package server

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// maxPreemptors is for how many of those without a place, in each cluster, others may be stopped at a time.
const maxPreemptors = 8

// preempt stops tasks that allow it, for the first of those that wait and come before them.
func (w *queueController) preempt() {
	if !w.anyPreemptible() || w.diskError() != nil { // nobody could get the place
		return
	}
	var stops []raftfsm.StopTask
	w.term.planner.inspect(func(view *raftfsm.View, fleet *schedule.HostSet) {
		for _, item := range w.queue.Refused(w.cfg.Now(), maxPreemptors) {
			if !w.victimsRemain(item) {
				stops = append(stops, w.victimsOf(view, fleet, item)...)
			}
		}
	})
	for _, id := range w.stopTasks(w.term.ctx, stops) {
		if s := w.placed[id]; s != nil {
			s.stoppingAt = time.Time{}
		}
		maps.DeleteFunc(w.victims, func(_ string, victims []string) bool { return slices.Contains(victims, id) })
	}
}

func (w *queueController) anyPreemptible() bool {
	for _, s := range w.placed {
		if s.preemptible && s.stoppingAt.IsZero() {
			return true
		}
	}
	return false
}

// victimsRemain reports whether tasks that were stopped for the item are still there.
func (w *queueController) victimsRemain(item *queue.Item) bool {
	return slices.ContainsFunc(w.victims[item.ID()], func(task string) bool { return w.placed[task] != nil })
}

// victimsOf stops what has to end so that the item has its place. Those that are asked already are spared by others.
func (w *queueController) victimsOf(view *raftfsm.View, fleet *schedule.HostSet, item *queue.Item) (stops []raftfsm.StopTask) {
	request := requestOf(view, item)
	if request == nil {
		return nil
	}
	delete(w.victims, item.ID())
	now, borrowed := w.cfg.Now(), w.borrowed()
	for _, task := range fleet.Victims(*request, func(t *spec.Task) (schedule.EvictionCost, bool) { return w.evictionCost(t, item, borrowed[t.ID]) }) {
		w.victims[item.ID()] = append(w.victims[item.ID()], task.ID)
		w.placed[task.ID].stoppingAt = now
		stops = append(stops, raftfsm.StopTask{ID: task.ID, Code: spec.StopPreempted, At: now,
			Reason: fmt.Sprintf("It gave way to task %s of priority %d, and waits again as another task", item.ID(), item.Priority)})
	}
	return stops
}

// evictionCost is what it costs to stop a task for the item. Only such may be stopped that say so, are not about to end, and come
// after the item in the order of the queue, or two could stop each other for ever: who has it by right before who borrows,
// then by priority. Within a team only priority counts.
func (w *queueController) evictionCost(t *spec.Task, item *queue.Item, borrowed bool) (p schedule.EvictionCost, may bool) {
	s := w.placed[t.ID]
	if s == nil || !s.preemptible || !s.stoppingAt.IsZero() {
		return p, false
	}
	may = s.priority < item.Priority
	if borrows := w.queue.Borrows(item); s.team != item.Team && borrows != borrowed {
		may = borrowed
	}
	return schedule.EvictionCost{Owned: !borrowed, Priority: s.priority, Since: s.heldSince()}, may
}

// borrowed are the tasks that a team has beyond its quota: the cheapest of those that may be stopped, until the rest and
// what does not stop by itself already are within it.
func (w *queueController) borrowed() map[string]bool {
	over := map[string]int{} // GPUs beyond the quota, by team
	var may []string
	for id, s := range w.placed {
		if _, known := over[s.team]; !known {
			held, quota := w.queue.Teams.Usage(s.team)
			over[s.team] = held - max(0, quota)
		}
		if !s.stoppingAt.IsZero() {
			over[s.team] -= s.gpus
		} else if s.preemptible && s.gpus > 0 {
			may = append(may, id)
		}
	}
	slices.SortFunc(may, func(a, b string) int {
		one, other := w.placed[a], w.placed[b]
		return cmp.Or(cmp.Compare(one.priority, other.priority), other.heldSince().Compare(one.heldSince()), strings.Compare(a, b))
	})
	borrowed := map[string]bool{}
	for _, id := range may {
		if s := w.placed[id]; over[s.team] > 0 {
			borrowed[id] = true
			over[s.team] -= s.gpus
		}
	}
	return borrowed
}

// heldSince is since when the task has its place.
func (s *placedTask) heldSince() time.Time {
	if s.startedAt.IsZero() {
		return s.placedAt
	}
	return s.startedAt
}
