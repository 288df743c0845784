package server

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// round is what one entry places.
type round struct {
	*waiting
	view   *raftfsm.View
	fleet  *schedule.Fleet
	kinds  map[[2]string]*schedule.Kind // what was asked for so far, by cluster and shape
	seed   uint64                       // of the next item
	held   map[string][]*spec.Task      // what keeps the reservation of a cluster from others now
	flight *flight

	lent map[string]bool // what is borrowed, as the round began; nil before it is needed: it costs a look at every stay

	// In the order in which they got their places: items, a group for each, and all their tasks as they are planned.
	items   []*queue.Item
	entry   raftfsm.PlaceTasks
	planned []*spec.Task

	ids    map[string]bool // of the tasks
	answer []string        // why a group was refused
	err    error
}

// plan finds places for who is next; nil: for nobody.
func (w *waiting) plan() *round {
	now := w.cfg.Now()
	if w.queue.Len() == 0 {
		clear(w.gained) // what comes is tried anyway
		return nil
	}
	if w.queue.Idle() && len(w.gained) == 0 && !w.looked || time.Now().Before(w.pause) || w.diskError() != nil {
		return nil
	}
	w.looked = false
	r := &round{waiting: w, kinds: map[[2]string]*schedule.Kind{}, seed: newSeed(), held: map[string][]*spec.Task{}, ids: map[string]bool{}}
	r.flight = w.term.planner.explore(func(view *raftfsm.View, fleet *schedule.Fleet) []*spec.Task {
		r.view, r.fleet = view, fleet
		r.wake()
		r.items = w.queue.Round(now, roundTasks, r)
		for cluster := range r.held {
			r.letGo(cluster)
		}
		return r.planned
	})
	if len(r.items) == 0 {
		w.term.planner.land(r.flight, nil)
		return nil
	}
	return r
}

// wake offers again what could have a place on one of the hosts that have more to give now.
func (r *round) wake() {
	for id, cluster := range r.fleet.Returned() {
		r.gain(cluster, id)
		r.queue.Renew(cluster)
	}
	if failed := r.term.planner.failed; failed > r.failed {
		r.failed = failed
		for _, host := range r.view.Hosts("") {
			r.gain(host.Cluster, host.ID)
		}
	}
	for cluster, gained := range r.gained {
		r.doubt(cluster, gained)
		hosts := make([]string, 0, len(gained))
		for id := range gained {
			hosts = append(hosts, id)
		}
		slices.Sort(hosts)
		r.queue.Wake(cluster, func(item *queue.Item) bool {
			request := requestOf(r.view, item)
			return request == nil || r.fleet.Accepts(*request, hosts)
		})
	}
	clear(r.gained)
}

// Place is queue.Places.
func (r *round) Place(item *queue.Item, keep bool) bool {
	tasks := item.Of.(*waiter).tasks // apply finds what has become of them since
	if keep {
		r.keep(item.Cluster)
	} else {
		r.letGo(item.Cluster)
	}
	r.seed++
	decision := r.fleet.PlanFor(r.kind(item), tasks, r.seed)
	if len(decision.Tasks) < len(tasks) {
		for _, planned := range decision.Tasks {
			r.fleet.DropTask(planned)
		}
		return false
	}
	group := make([]spec.Placement, len(tasks))
	for i, task := range decision.Tasks {
		group[i] = schedule.PlacementOf(tasks[i], task)
		r.ids[task.ID] = true
		r.stays(task, task.Terms())
	}
	r.entry.Groups, r.planned = append(r.entry.Groups, group), append(r.planned, decision.Tasks...)
	return true
}

// kind is what the item asks for, which is read for the first of its shape.
func (r *round) kind(item *queue.Item) *schedule.Kind {
	of := [2]string{item.Cluster, item.Shape}
	known := r.kinds[of]
	if known == nil {
		c := item.Of.(*waiter)
		known = schedule.KindOf(requestFor(c.tasks[0], spec.Effective(c.definition, c.tasks[0].Overrides)))
		r.kinds[of] = known
	}
	return known
}

// fly records a round while others are planned.
func (w *waiting) fly(r *round) {
	w.flying[r] = true
	go func() {
		var answer any
		if answer, r.err = w.record(w.term.ctx, r.entry); r.err == nil {
			r.answer = answer.([]string)
		}
		w.term.planner.land(r.flight, r.doubtful())
		w.landed <- r
	}()
}

// doubtful are the tasks of which it is not certain that they have their places.
func (r *round) doubtful() (tasks []*spec.Task) {
	if r.err != nil {
		return r.planned
	}
	at := 0
	for i, group := range r.entry.Groups {
		if r.answer[i] != "" {
			tasks = append(tasks, r.planned[at:at+len(group)]...)
		}
		at += len(group)
	}
	return tasks
}

// settle puts back what could not be recorded.
func (w *waiting) settle(r *round) {
	delete(w.flying, r)
	now, refused := w.cfg.Now(), 0
	for i, item := range r.items {
		if r.err == nil && r.answer[i] == "" {
			continue
		}
		refused++
		w.queue.Drop(item, now)
		for _, id := range item.Tasks {
			delete(w.placed, id)
		}
		w.reconsider(item, now)
		if r.err == nil {
			w.log.Debug("a task of the queue lost its place, planning again", "task", item.ID(), "why", r.answer[i])
		}
	}
	if r.err != nil {
		w.log.Warn("tasks of the queue could not be placed, will try again", "tasks", refused, "error", r.err)
	}
	if refused == len(r.items) {
		w.pause = time.Now().Add(refusedPause)
	}
}
