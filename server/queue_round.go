package server

import (
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// queueRound is what one entry places.
type queueRound struct {
	*queueController
	view      *raftfsm.View
	hosts     *schedule.HostSet
	templates map[[2]string]*schedule.Template // what was asked for so far, by cluster and shape
	seed      uint64                           // of the next item
	holds     map[string][]*spec.Task          // what keeps the reservation of a cluster from others now
	inFlight  *inFlightPlan

	borrowedTasks map[string]bool // what is borrowed, as the round began; nil before it is needed: it costs a look at every stay

	// In the order in which they got their places: items, a group for each, and all their tasks as they are planned.
	items   []*queue.Item
	entry   raftfsm.PlaceTasks
	planned []*spec.Task

	ids      map[string]bool // of the tasks
	refusals []string        // why a group was refused
	err      error
}

// planRound finds places for who is next; nil: for nobody.
func (w *queueController) planRound() *queueRound {
	now := w.cfg.Now()
	if w.queue.Len() == 0 {
		clear(w.freedHosts) // what comes is tried anyway
		return nil
	}
	if w.queue.Idle() && len(w.freedHosts) == 0 && !w.sharesChanged || time.Now().Before(w.backoffUntil) || w.diskError() != nil {
		return nil
	}
	w.sharesChanged = false
	r := &queueRound{queueController: w, templates: map[[2]string]*schedule.Template{}, seed: newSeed(), holds: map[string][]*spec.Task{}, ids: map[string]bool{}}
	r.inFlight = w.term.planner.planWith(func(view *raftfsm.View, fleet *schedule.HostSet) []*spec.Task {
		r.view, r.hosts = view, fleet
		r.retryFreed()
		r.items = w.queue.Round(now, maxRoundTasks, r)
		for cluster := range r.holds {
			r.release(cluster)
		}
		return r.planned
	})
	if len(r.items) == 0 {
		w.term.planner.resolve(r.inFlight, nil)
		return nil
	}
	return r
}

// retryFreed offers again what could have a place on one of the hosts that have more to give now.
func (r *queueRound) retryFreed() {
	for id, cluster := range r.hosts.Reconnected() {
		r.markFreed(cluster, id)
		r.queue.ResetRefusals(cluster)
	}
	if failed := r.term.planner.failedPlans; failed > r.failedPlans {
		r.failedPlans = failed
		for _, host := range r.view.Hosts("") {
			r.markFreed(host.Cluster, host.ID)
		}
	}
	for cluster, gained := range r.freedHosts {
		r.invalidate(cluster, gained)
		hosts := make([]string, 0, len(gained))
		for id := range gained {
			hosts = append(hosts, id)
		}
		slices.Sort(hosts)
		r.queue.RetryRefused(cluster, func(item *queue.Item) bool {
			request := requestOf(r.view, item)
			return request == nil || r.hosts.AnyFeasible(*request, hosts)
		})
	}
	clear(r.freedHosts)
}

// Place is queue.Places.
func (r *queueRound) Place(item *queue.Item, keep bool) bool {
	tasks := item.Payload.(*pendingUnit).tasks // apply finds what has become of them since
	if keep {
		r.hold(item.Cluster)
	} else {
		r.release(item.Cluster)
	}
	r.seed++
	decision := r.hosts.PlanFor(r.template(item), tasks, r.seed)
	if len(decision.Tasks) < len(tasks) {
		for _, planned := range decision.Tasks {
			r.hosts.DropTask(planned)
		}
		return false
	}
	group := make([]spec.Placement, len(tasks))
	for i, task := range decision.Tasks {
		group[i] = schedule.PlacementOf(tasks[i], task)
		r.ids[task.ID] = true
		r.track(task, task.SchedulingOptions())
	}
	r.entry.Groups, r.planned = append(r.entry.Groups, group), append(r.planned, decision.Tasks...)
	return true
}

// template is what the item asks for, which is read for the first of its shape.
func (r *queueRound) template(item *queue.Item) *schedule.Template {
	of := [2]string{item.Cluster, item.Class}
	known := r.templates[of]
	if known == nil {
		c := item.Payload.(*pendingUnit)
		known = schedule.TemplateOf(requestFor(c.tasks[0], spec.Effective(c.definition, c.tasks[0].Overrides)))
		r.templates[of] = known
	}
	return known
}

// commit records a round while others are planned.
func (w *queueController) commit(r *queueRound) {
	w.committing[r] = true
	go func() {
		var answer any
		if answer, r.err = w.propose(w.term.ctx, r.entry); r.err == nil {
			r.refusals = answer.([]string)
		}
		w.term.planner.resolve(r.inFlight, r.uncertain())
		w.committed <- r
	}()
}

// uncertain are the tasks of which it is not certain that they have their places.
func (r *queueRound) uncertain() (tasks []*spec.Task) {
	if r.err != nil {
		return r.planned
	}
	at := 0
	for i, group := range r.entry.Groups {
		if r.refusals[i] != "" {
			tasks = append(tasks, r.planned[at:at+len(group)]...)
		}
		at += len(group)
	}
	return tasks
}

// requeueRefused puts back what could not be recorded.
func (w *queueController) requeueRefused(r *queueRound) {
	delete(w.committing, r)
	now, refused := w.cfg.Now(), 0
	for i, item := range r.items {
		if r.err == nil && r.refusals[i] == "" {
			continue
		}
		refused++
		w.queue.Unplace(item, now)
		for _, id := range item.Tasks {
			delete(w.placed, id)
		}
		w.requeue(item, now)
		if r.err == nil {
			w.log.Debug("a task of the queue lost its place, planning again", "task", item.ID(), "why", r.refusals[i])
		}
	}
	if r.err != nil {
		w.log.Warn("tasks of the queue could not be placed, will try again", "tasks", refused, "error", r.err)
	}
	if refused == len(r.items) {
		w.backoffUntil = time.Now().Add(conflictBackoff)
	}
}
