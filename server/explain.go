package server

import (
	"context"
	"fmt"
	"strings"

	"pinion/raftfsm"
	"pinion/server/schedule"
	"pinion/server/schedule/batch"
	"pinion/server/schedule/queue"
)

// Explain tells why a task is where it is: of one that waits its place in the queue, what each host says, who has what it
// waits for, and when it can start. raftfsm.ErrNotFound. Only the leader knows.
func (s *Server) Explain(ctx context.Context, task string) (e raftfsm.Explanation, err error) {
	asked := s.asking(ctx, func(w *waiting) { e, err = w.explain(task) })
	if asked != nil {
		return raftfsm.Explanation{}, asked
	}
	return e, err
}

// Queue lists what waits in a cluster, in all when it is empty: by cluster and place, what is held back at the end. Only the
// leader knows.
func (s *Server) Queue(ctx context.Context, cluster string) (list []raftfsm.Queued, err error) {
	err = s.asking(ctx, func(w *waiting) { list = w.list(cluster) })
	return list, err
}

// asking has the leader's loop answer a question about the queue.
func (s *Server) asking(ctx context.Context, question func(*waiting)) error {
	if err := s.begin(); err != nil {
		return err
	}
	defer s.calls.RUnlock()
	t, err := s.leading()
	if err != nil {
		return err
	}
	if err := s.checkLeader(ctx); err != nil {
		return err
	}
	answered := make(chan struct{})
	select {
	case t.questions <- func(w *waiting) { w.follow(); question(w); close(answered) }:
		<-answered
		return nil
	case <-t.ctx.Done():
		return ErrNotLeader
	case <-ctx.Done():
		return fmt.Errorf("%w (%w)", errBusy, context.Cause(ctx))
	}
}

func (w *waiting) explain(id string) (raftfsm.Explanation, error) {
	view := w.state.View()
	task := view.Task(id)
	if task == nil {
		return raftfsm.Explanation{}, fmt.Errorf("task %q: %w", id, raftfsm.ErrNotFound)
	}
	e := raftfsm.Explanation{TaskID: id, Status: task.LastStatus, RetryOf: task.RetryOf}
	if task.LastStatus == raftfsm.Provisioning {
		w.explainWaiting(&e, view, task)
	} else {
		e.Summary = whereItIs(view, task)
	}
	if task.RetryOf != "" {
		e.Summary += fmt.Sprintf(" It is retry %d of task %s.", task.Attempt, task.RetryOf)
	}
	if latest := batch.Latest(view, task); latest.Attempt > task.Attempt {
		e.RetryAs = latest.ID
		e.Summary += fmt.Sprintf(" Task %s does its work again, as retry %d.", latest.ID, latest.Attempt)
	}
	return e, nil
}

// explainWaiting tells of a task without a place.
func (w *waiting) explainWaiting(e *raftfsm.Explanation, view *raftfsm.View, task *raftfsm.Task) {
	now := w.cfg.Now()
	entry := w.queued(view, task)
	e.Queue = &entry
	if entry.Place, e.Waiting = w.queue.Place(task.ID, now); entry.Place == 0 {
		e.Summary = "It is not in line yet: " + entry.WaitsFor + "."
		if entry.Impossible != nil {
			e.Summary += " Then it waits for " + waitsForHost(view, *entry.Impossible) + "."
		}
		return
	}
	item := w.queue.Item(task.ID)
	w.term.planner.look(func(view *raftfsm.View, fleet *schedule.Fleet) {
		if request := requestOf(view, item); request != nil {
			w.explainPlace(e, fleet, *request, item)
		}
	})
	e.Summary = fmt.Sprintf("It is number %d of %d in the queue of cluster %s and waits for %s.", entry.Place, e.Waiting, task.Cluster, entry.WaitsFor)
}

// explainPlace asks the hosts.
func (w *waiting) explainPlace(e *raftfsm.Explanation, fleet *schedule.Fleet, r schedule.Request, item *queue.Item) {
	now := w.cfg.Now()
	var willing int
	e.Hosts, willing = fleet.Refusals(r)
	head := w.queue.Head(item.Cluster)
	o, ok := fleet.Opening(r, w.ends)
	for _, holder := range fleet.Holders(r, o, w.ends) {
		e.Holders = append(e.Holders, raftfsm.Holder{TaskID: holder.ID, HostID: holder.HostID, Group: holder.Group,
			Team: holder.Terms().Team, GPUs: len(holder.GPUs()), Until: w.ends(holder)})
	}
	switch {
	case e.Queue.Impossible != nil:
		e.Estimate = "there is none before a host comes that can run it, or one of the cluster's becomes one"
	case !ok:
		e.Queue.WaitsFor, e.Estimate = "a host that could run it to be well and heard of", "there is none: what the hosts say tells what is in the way"
	case head != nil && head != item && willing > 0:
		e.Queue.WaitsFor = fmt.Sprintf("task %s, which comes before it and for which what is free is kept", head.ID())
		e.Estimate = "there is none before that task has started"
	case o.At.IsZero() && len(e.Holders) > 0:
		e.Queue.WaitsFor = waitsFor(e.Holders)
		e.Estimate = "there is none: tasks that have to end first have no time limit (" + raftfsm.TagTimeLimit + ")"
	default:
		at := o.At
		if at.Before(now) {
			at = now
		}
		e.Earliest = &at
		if e.Queue.WaitsFor, e.Estimate = waitsFor(e.Holders), "by the time limits of the tasks that have what it needs"; e.Queue.Place > 1 {
			e.Estimate += ", unless one that comes before it takes the place"
		}
	}
	if held, quota := w.queue.Had(item.Team); quota >= 0 && w.queue.Borrows(item) {
		e.Estimate += fmt.Sprintf("; with it its team would have more than its quota (%d of %d GPUs now), so those who stay within theirs go first", held, quota)
	}
}

func waitsFor(holders []raftfsm.Holder) string {
	switch len(holders) {
	case 0:
		return "its turn"
	case 1:
		return "task " + holders[0].TaskID + " to end"
	}
	return fmt.Sprintf("task %s and %d others to end", holders[len(holders)-1].TaskID, len(holders)-1)
}

// sentence is a text after another one, nothing when it is empty.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return " " + strings.TrimSuffix(text, ".") + "."
}

// hostName is what people call a host.
func hostName(view *raftfsm.View, id string) string {
	if known := view.Host(id); known != nil {
		return known.Name
	}
	return id
}

// whereItIs is for a task that does not wait.
func whereItIs(view *raftfsm.View, t *raftfsm.Task) string {
	host := hostName(view, t.HostID)
	switch {
	case t.LastStatus == raftfsm.Stopped:
		return "It is over." + sentence(t.StoppedReason)
	case t.DesiredStatus == raftfsm.Stopped:
		return fmt.Sprintf("It is being stopped on host %s.", host) + sentence(t.StoppedReason)
	case len(t.GPUs()) > 0:
		return fmt.Sprintf("It has a place on host %s with %d GPUs.", host, len(t.GPUs()))
	}
	return fmt.Sprintf("It has a place on host %s.", host)
}
