package api

import (
	"context"
	"net/http"
	"strconv"

	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// Queue tells of the tasks that wait. It is asked on the leader only, which alone knows their order.
type Queue interface {
	// Queue lists what waits in a cluster, in all when it is empty, in the order of places.
	Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error)
	// Explain tells why a task is where it is. raftfsm.ErrNotFound.
	Explain(ctx context.Context, task string) (spec.Explanation, error)
	// ExplainBriefly is Explain without what each host says: it costs no look at every host. raftfsm.ErrNotFound.
	ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error)
}

// queue lists the tasks that wait, of every cluster or of ?cluster=NAME.
func (d *door) queue(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	cluster, err := who.clusterOf(r)
	if err != nil {
		return err
	}
	if d.Queue == nil {
		return errNotConfigured("the queue")
	}
	list, err := d.Queue.Queue(r.Context(), cluster)
	if err != nil {
		return err
	}
	d.reply(w, r, typeJSON, http.StatusOK, append([]spec.QueueItem{}, list...))
	return nil
}

// explainTask tells why a task is where it is.
func (d *door) explainTask(w http.ResponseWriter, r *http.Request, who caller, _ []byte) error {
	task := who.view.Task(r.PathValue("id"))
	if task == nil {
		return wire.Errorf(notFound, "There is no task %s. Stopped tasks are forgotten after an hour.", r.PathValue("id"))
	}
	if err := who.bound.Check(who.principal, task.Cluster); err != nil {
		return err
	}
	if d.Queue == nil {
		return errNotConfigured("explaining tasks")
	}
	explain := d.Queue.Explain
	if text := r.URL.Query().Get("brief"); text != "" {
		brief, err := strconv.ParseBool(text)
		if err != nil {
			return wire.Errorf(wire.InvalidParameter, "brief must be true or false, not %q.", text)
		}
		if brief {
			explain = d.Queue.ExplainBriefly
		}
	}
	explanation, err := explain(r.Context(), task.ID)
	if err != nil {
		return err
	}
	d.reply(w, r, typeJSON, http.StatusOK, explanation)
	return nil
}
