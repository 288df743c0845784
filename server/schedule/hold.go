package schedule

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// Hold enforces a reservation: on each of its hosts it takes the free resources that the request needs at o.At and that no
// task ending by then will release. They are held by placeholder tasks, which DropTask releases. valid is false, and nothing
// is held, when the hosts have changed so that the request would not fit there at o.At.
func (f *HostSet) Hold(r Request, o Reservation, ends EndTime) (held []*spec.Task, valid bool) {
	r, valid = o.of(r)
	a := newEvaluation(r)
	if !valid || a.parse(nil) != nil {
		return nil, false
	}
	for i, allotment := range o.Hosts {
		h := f.hosts[allotment.HostID]
		if h == nil || h.Host.Cluster != r.Run.Cluster {
			break
		}
		if _, refused := a.refusal(h, staticFilters); refused {
			break
		}
		task, enough := a.holdOn(h, allotment.Tasks, o, ends)
		if !enough {
			break
		}
		task.ID = fmt.Sprintf("kept-%s-%d", r.Run.Cluster, i)
		f.cluster(h.Host.Cluster).assume(h, task)
		held = append(held, task)
	}
	if len(held) < len(o.Hosts) {
		for _, task := range held {
			f.DropTask(task)
		}
		return nil, false
	}
	return held, true
}

// holdOn returns a placeholder task with the resources that have to stay free for `tasks` tasks of the request. When their
// start is unknown, these are all free resources that the tasks can use.
func (a *evaluation) holdOn(h *Host, tasks int, o Reservation, ends EndTime) (placeholder *spec.Task, enough bool) {
	demand, free := a.demandOn(h), a.capacityOn(h)
	later := free
	for _, e := range h.taskEnds(ends) {
		if o.At.IsZero() || !e.at.After(o.At) {
			a.release(&later, h, e.task)
		}
	}
	if later.slots(demand, tasks) < tasks {
		return nil, false
	}
	if o.At.IsZero() {
		later = free
	}
	held := free.Hold(demand, tasks, &later.Capacity)
	placeholder = newTask(h.Host.Cluster, &held, spec.Pending, o.At)
	placeholder.HostID = h.Host.ID
	only := a.gpuConstraints.restrict(h)
	placeholder.Containers = append(only.takeShares(held.Shares), spec.Container{GPUs: only.Free.GPUs[len(only.Free.GPUs)-held.TotalGPUs():]})
	return placeholder, true
}
