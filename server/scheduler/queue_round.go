package scheduler

import (
	"maps"
	"slices"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/id"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// queueRound plans the places of the next items, which are recorded as one log entry.
type queueRound struct {
	controller *queueController
	now        time.Time
	view       *raftfsm.View
	hosts      *schedule.HostSet
	templates  map[[2]string]*schedule.Template // by cluster and equivalence class
	seed       uint64                           // of the next item
	holds      map[string][]*spec.Task          // by cluster: what keeps its reservation from other items now
	borrowed   map[string]bool                  // tasks beyond the quota of their team; nil before it is needed

	placed []placedItem // in the order of their placement
	ids    map[string]bool
	plan   *inFlightPlan
	err    error // of the log entry
}

// placedItem is an item and the places that were planned for it.
type placedItem struct {
	item    *queue.Item
	group   []spec.Placement
	tasks   []*spec.Task // at their places
	refusal string       // why apply has not recorded them; empty when it has
}

// planRound plans places for the next items; nil when there are none for any.
func (w *queueController) planRound() *queueRound {
	now := w.node.Now()
	if w.queue.Len() == 0 {
		clear(w.freed) // new items are tried on every host anyway
		return nil
	}
	if w.queue.Idle() && len(w.freed) == 0 && !w.sharesChanged || now.Before(w.backoffUntil) || w.node.CheckWritable() != nil {
		return nil
	}
	w.sharesChanged = false
	planning := w.planner.begin()
	r := &queueRound{controller: w, now: now, view: planning.view, hosts: planning.hosts, seed: id.NewSeed(),
		templates: map[[2]string]*schedule.Template{}, holds: map[string][]*spec.Task{}, ids: map[string]bool{}}
	w.retryFreed(planning)
	w.queue.Round(now, maxRoundTasks, r)
	for cluster := range r.holds {
		r.release(cluster)
	}
	if len(r.placed) == 0 {
		planning.discard()
		return nil
	}
	r.plan = planning.commit(r.tasks(nil), nil)
	return r
}

// retryFreed unblocks the items that could be placed on one of the hosts with more free capacity.
func (w *queueController) retryFreed(planning planning) {
	for id, cluster := range planning.hosts.Reconnected() {
		w.freed.add(cluster, id)
		w.queue.ResetRefusals(cluster)
	}
	if planning.failed > w.failedPlans {
		w.failedPlans = planning.failed
		for _, host := range planning.view.Hosts("") {
			w.freed.add(host.Cluster, host.ID)
		}
	}
	for cluster, freed := range w.freed {
		w.invalidateReservation(cluster, freed)
		hosts := slices.Sorted(maps.Keys(freed))
		w.queue.RetryRefused(cluster, func(item *queue.Item) bool {
			request := requestOf(planning.view, item)
			return request == nil || planning.hosts.AnyFeasible(*request, hosts)
		})
	}
	clear(w.freed)
}

// Place implements queue.Placer.
func (r *queueRound) Place(item *queue.Item, backfill bool) bool {
	pending := item.Payload.(*pendingUnit).tasks // apply finds what has become of them since
	if backfill {
		r.hold(item.Cluster)
	} else {
		r.release(item.Cluster)
	}
	r.seed++
	decision := r.hosts.PlanFor(r.template(item), pending, r.seed)
	if len(decision.Tasks) < len(pending) {
		for _, planned := range decision.Tasks {
			r.hosts.DropTask(planned)
		}
		return false
	}
	p := placedItem{item: item, group: make([]spec.Placement, len(pending)), tasks: decision.Tasks}
	for i, task := range decision.Tasks {
		p.group[i] = schedule.PlacementOf(pending[i], task)
		r.ids[task.ID] = true
		r.controller.placed.track(task, task.SchedulingOptions(), r.now)
	}
	r.placed = append(r.placed, p)
	return true
}

// template is the request of an item, which is parsed once for each equivalence class.
func (r *queueRound) template(item *queue.Item) *schedule.Template {
	key := [2]string{item.Cluster, item.Class}
	known := r.templates[key]
	if known == nil {
		unit := item.Payload.(*pendingUnit)
		known = schedule.TemplateOf(schedule.RequestFor(r.view, unit.tasks[0], spec.Effective(unit.definition, unit.tasks[0].Overrides.Get())))
		r.templates[key] = known
	}
	return known
}

// commit proposes a round while others are planned.
func (w *queueController) commit(r *queueRound) {
	w.committing[r] = true
	entry := raftfsm.PlaceTasks{Groups: make([][]spec.Placement, len(r.placed))}
	for i, p := range r.placed {
		entry.Groups[i] = p.group
	}
	go func() {
		answer, err := w.node.Propose(w.ctx, entry)
		if r.err = err; err == nil {
			for i, refusal := range answer.([]string) {
				r.placed[i].refusal = refusal
			}
		}
		r.plan.resolve(r.tasks(func(p *placedItem) bool { return err != nil || p.refusal != "" }))
		w.committed <- r
	}()
}

// tasks lists the planned tasks of some items; nil: of all.
func (r *queueRound) tasks(of func(*placedItem) bool) (tasks []*spec.Task) {
	for i := range r.placed {
		if p := &r.placed[i]; of == nil || of(p) {
			tasks = append(tasks, p.tasks...)
		}
	}
	return tasks
}

// requeueRefused puts back the items that were not recorded.
func (w *queueController) requeueRefused(r *queueRound) {
	delete(w.committing, r)
	now, refused := w.node.Now(), 0
	for _, p := range r.placed {
		if r.err == nil && p.refusal == "" {
			w.planner.queued.Observe(max(0, now.Sub(p.item.Payload.(*pendingUnit).tasks[0].CreatedAt).Seconds()))
			continue
		}
		refused++
		w.queue.UndoPlacement(p.item, now)
		for _, id := range p.item.Tasks {
			delete(w.placed, id)
		}
		w.requeue(p.item, now)
		if r.err == nil {
			w.log.Debug("a queued task lost its place to another change, it is planned again", "task", p.item.ID(), "conflict", p.refusal)
		}
	}
	if r.err != nil {
		w.log.Warn("queued tasks could not be placed, will try again", "tasks", refused, "error", r.err)
	}
	if refused == len(r.placed) {
		w.backoffUntil = now.Add(conflictBackoff)
	}
}

var _ queue.Placer = (*queueRound)(nil)
