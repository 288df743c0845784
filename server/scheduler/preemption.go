package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// maxPreemptors is the number of items in each cluster for which tasks are stopped at a time.
const maxPreemptors = 8

// victimsByItem is the victims of each item: tasks that were stopped to make room for it, by its id.
type victimsByItem map[string][]string

// preempt chooses tasks to stop for the first items without a place that come before them.
func (w *queueController) preempt(now time.Time) (stops []raftfsm.StopTask) {
	if !w.placed.anyPreemptible() {
		return nil
	}
	planning := w.planner.begin()
	defer planning.discard()
	for _, item := range w.queue.Refused(now, maxPreemptors) {
		if !w.victimsRemain(item) {
			stops = append(stops, w.victimsOf(planning, item, now)...)
		}
	}
	return stops
}

// victimsRemain reports whether tasks that were stopped for the item are still there.
func (w *queueController) victimsRemain(item *queue.Item) bool {
	return slices.ContainsFunc(w.victimsByItem[item.ID()], func(task string) bool { return w.placed[task] != nil })
}

// victimsOf chooses the tasks to stop so that the item has its place. Tasks that are stopping already make room by themselves.
func (w *queueController) victimsOf(planning planning, item *queue.Item, now time.Time) (stops []raftfsm.StopTask) {
	request := requestOf(planning.view, item)
	if request == nil {
		return nil
	}
	delete(w.victimsByItem, item.ID())
	borrowed := w.placed.borrowed(w.queue.Teams)
	cost := func(t *spec.Task) (schedule.EvictionCost, bool) { return w.evictionCost(t, item, borrowed[t.ID]) }
	for _, task := range planning.hosts.Victims(*request, cost) {
		w.victimsByItem[item.ID()] = append(w.victimsByItem[item.ID()], task.ID)
		w.placed.stopping(task.ID, now)
		stops = append(stops, raftfsm.StopTask{ID: task.ID, Code: spec.StopPreempted, At: now,
			Reason: fmt.Sprintf("Preempted by task %s of priority %d; its work is queued again as another task", item.ID(), item.Priority)})
	}
	return stops
}

// evictionCost is the cost of stopping a task for the item. A task may be stopped that is preemptible, not stopping, and
// after the item in queue order, or two tasks could stop each other for ever: an item within its quota before a task that
// is borrowed, then by priority. Within a team only priority counts.
func (w *queueController) evictionCost(t *spec.Task, item *queue.Item, borrowed bool) (cost schedule.EvictionCost, may bool) {
	placed := w.placed[t.ID]
	if placed == nil || !placed.preemptible || !placed.stoppingAt.IsZero() {
		return cost, false
	}
	may = placed.priority < item.Priority
	if borrows := w.queue.Borrows(item); placed.team != item.Team && borrows != borrowed {
		may = borrowed
	}
	return schedule.EvictionCost{Owned: !borrowed, Priority: placed.priority, Since: placed.heldSince()}, may
}

// stopsDone takes in the tasks that could not be stopped: they may be chosen again.
func (w *queueController) stopsDone(failed []string) {
	w.stops.busy = false
	for _, id := range failed {
		w.placed.stopping(id, time.Time{})
		maps.DeleteFunc(w.victimsByItem, func(_ string, victims []string) bool { return slices.Contains(victims, id) })
	}
}

// stopConcurrency is the number of stops in flight at most: entries that are proposed together share a write to the disk.
const stopConcurrency = 64

// stopper records that tasks stop, one set of them at a time, beside the loop that starts it.
type stopper struct {
	node Node
	log  *slog.Logger
	busy bool          // a set is in flight
	done chan []string // the ids of a set that could not be stopped
}

// start stops the tasks; the outcome comes on done.
func (s *stopper) start(ctx context.Context, stops []raftfsm.StopTask) {
	if len(stops) == 0 {
		return
	}
	s.busy = true
	go func() { s.done <- s.stop(ctx, stops) }()
}

// wait returns when nothing is in flight.
func (s *stopper) wait() {
	if s.busy {
		<-s.done
	}
}

func (s *stopper) stop(ctx context.Context, stops []raftfsm.StopTask) (failed []string) {
	var (
		all errgroup.Group
		mu  sync.Mutex
	)
	all.SetLimit(stopConcurrency)
	for _, stop := range stops {
		all.Go(func() error {
			if _, err := s.node.Propose(ctx, stop); err != nil {
				s.log.Warn("a task could not be stopped, will try again", "task", stop.ID, "reason", stop.Reason, "error", err)
				mu.Lock()
				defer mu.Unlock()
				failed = append(failed, stop.ID)
			}
			return nil
		})
	}
	_ = all.Wait() // no function returns an error
	return failed
}
