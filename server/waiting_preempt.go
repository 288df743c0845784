package server

import (
	"fmt"
	"slices"

	"pinion/raftfsm"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// firstFew is for how many of those without a place, in each cluster, others may be stopped at a time.
const firstFew = 8

// preempt stops tasks that allow it, for the first of those that wait and come before them.
func (w *waiting) preempt() {
	if !w.anyPreemptible() {
		return
	}
	var stops []raftfsm.StopTask
	w.term.planner.look(func(view *raftfsm.View, fleet *schedule.Fleet) {
		for _, item := range w.queue.Refused(w.cfg.Now(), firstFew) {
			if !w.victimsRemain(item) {
				stops = append(stops, w.victimsOf(view, fleet, item)...)
			}
		}
	})
	w.stop(w.term.ctx, stops)
}

func (w *waiting) anyPreemptible() bool {
	for _, s := range w.placed {
		if s.preemptible && s.stopping.IsZero() {
			return true
		}
	}
	return false
}

// victimsRemain reports whether tasks that were stopped for the item are still there.
func (w *waiting) victimsRemain(item *queue.Item) bool {
	return slices.ContainsFunc(w.victims[item.ID()], func(task string) bool { return w.placed[task] != nil })
}

// victimsOf stops what has to end so that the item has its place. Those that are asked already are spared by others.
func (w *waiting) victimsOf(view *raftfsm.View, fleet *schedule.Fleet, item *queue.Item) (stops []raftfsm.StopTask) {
	request := requestOf(view, item)
	if request == nil {
		return nil
	}
	delete(w.victims, item.ID())
	now := w.cfg.Now()
	for _, task := range fleet.Victims(*request, func(t *raftfsm.Task) (schedule.Price, bool) { return w.price(t, item) }) {
		w.victims[item.ID()] = append(w.victims[item.ID()], task.ID)
		w.placed[task.ID].stopping = now
		stops = append(stops, raftfsm.StopTask{ID: task.ID, Code: raftfsm.StopPreempted, At: now,
			Reason: fmt.Sprintf("It gave way to task %s of priority %d, and waits again as another task", item.ID(), item.Priority)})
	}
	return stops
}

// price is what it costs to stop a task for the item. Only such may be stopped that say so, are not about to end, and come
// after the item: by priority, or because their team has borrowed what the item's has a right to.
func (w *waiting) price(t *raftfsm.Task, item *queue.Item) (p schedule.Price, may bool) {
	s := w.placed[t.ID]
	if s == nil || !s.preemptible || !s.stopping.IsZero() {
		return p, false
	}
	borrowed := w.queue.Borrowing(s.team)
	may = s.priority < item.Priority || borrowed && s.team != item.Team && !w.queue.Borrows(item)
	since := s.since
	if since.IsZero() {
		since = s.placed
	}
	return schedule.Price{Owned: !borrowed, Priority: s.priority, Since: since}, may
}

// look is for who only wants to know: f asks the fleet and leaves it as it is.
func (p *planner) look(f func(*raftfsm.View, *schedule.Fleet)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	view := p.catchUp()
	f(view, p.fleet)
}
