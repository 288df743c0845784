package server

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// round is what one entry places.
type round struct {
	*waiting
	view   *raftfsm.View
	fleet  *schedule.Fleet
	places map[*queue.Item][]*raftfsm.Task // planned
	held   map[string][]*raftfsm.Task      // what keeps the reservation of a cluster from others now
	flight *flight

	lent map[string]bool // what is borrowed, as the round began; nil before it is needed: it costs a look at every stay

	items  []*queue.Item
	ids    map[string]bool    // of their tasks
	entry  raftfsm.PlaceTasks // a group for each item
	answer []string           // why a group was refused
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
	r := &round{waiting: w, places: map[*queue.Item][]*raftfsm.Task{}, held: map[string][]*raftfsm.Task{}, ids: map[string]bool{}}
	r.flight = w.term.planner.explore(func(view *raftfsm.View, fleet *schedule.Fleet) (planned []*raftfsm.Task) {
		r.view, r.fleet = view, fleet
		r.wake()
		r.items = w.queue.Round(now, roundTasks, r)
		for cluster := range r.held {
			r.letGo(cluster)
		}
		for _, item := range r.items {
			planned = append(planned, r.places[item]...)
			r.entry.Groups = append(r.entry.Groups, r.group(item))
		}
		return planned
	})
	if len(r.items) == 0 {
		w.term.planner.land(r.flight)
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
func (r *round) Place(item *queue.Item, keep bool) queue.Outcome {
	request := requestOf(r.view, item)
	if request == nil {
		return queue.Gone
	}
	if keep {
		r.keep(item.Cluster)
	} else {
		r.letGo(item.Cluster)
	}
	request.Seed = newSeed()
	decision := r.fleet.Plan([]schedule.Request{*request})[0]
	if len(decision.Tasks) < len(item.Tasks) {
		for _, planned := range decision.Tasks {
			r.fleet.DropTask(planned)
		}
		return queue.Refused
	}
	r.places[item] = decision.Tasks
	for _, task := range decision.Tasks {
		r.ids[task.ID] = true
		r.stays(task, task.Terms())
	}
	return queue.Placed
}

// group is where the tasks of an item go.
func (r *round) group(item *queue.Item) []raftfsm.Placement {
	group := make([]raftfsm.Placement, 0, len(item.Tasks))
	for i, planned := range r.places[item] {
		group = append(group, schedule.PlacementOf(r.view.Task(item.Tasks[i]), planned))
	}
	return group
}

// fly records a round while others are planned.
func (w *waiting) fly(r *round) {
	w.flying[r] = true
	go func() {
		var answer any
		if answer, r.err = w.record(w.term.ctx, r.entry); r.err == nil {
			r.answer = answer.([]string)
		}
		w.term.planner.land(r.flight)
		w.landed <- r
	}()
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
