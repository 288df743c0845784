package server

import (
	"context"
	"fmt"
	"strings"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/batch"
	"pinion/server/schedule/queue"
)

// Explain tells why a task is where it is: of one that waits its place in the queue, what each host says, who has what it
// waits for, and when it can start. raftfsm.ErrNotFound. Only the leader knows.
func (s *Server) Explain(ctx context.Context, task string) (spec.Explanation, error) {
	q, err := s.startExplanation(ctx, task)
	if err == nil && q.isQueued() {
		err = s.queryQueue(ctx, func(w *queueController) { w.explainHosts(q) })
	}
	if err != nil {
		return spec.Explanation{}, err
	}
	return q.build(), nil
}

// ExplainBriefly is Explain without what takes a look at every host each time: of a task that waits it tells the place in
// the queue, and what makes it impossible when no host could ever run it.
func (s *Server) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	q, err := s.startExplanation(ctx, task)
	if err != nil {
		return spec.Explanation{}, err
	}
	return q.build(), nil
}

// Queue lists what waits in a cluster, in all when it is empty: by cluster and place, what is held back at the end. Only the
// leader knows.
func (s *Server) Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error) {
	var entries []queueEntry
	if err := s.queryQueue(ctx, func(w *queueController) { entries = w.listQueue(cluster) }); err != nil {
		return nil, err
	}
	list := make([]spec.QueueItem, len(entries))
	for i := range entries {
		list[i] = entries[i].withInfeasibility()
	}
	return list, nil
}

// queryQueue has the leader's loop answer a question about the queue.
func (s *Server) queryQueue(ctx context.Context, question func(*queueController)) error {
	if err := s.acquire(); err != nil {
		return err
	}
	defer s.drain.release()
	t, err := s.requireLeader()
	if err != nil {
		return err
	}
	if err := s.checkLeader(ctx); err != nil {
		return err
	}
	answered := make(chan struct{})
	select {
	case t.queueQueries <- func(w *queueController) { w.followChanges(); question(w); close(answered) }:
		<-answered
		return nil
	case <-t.ctx.Done():
		return ErrNotLeader
	case <-ctx.Done():
		return fmt.Errorf("%w (%w)", errBusy, context.Cause(ctx))
	}
}

// explanationBuilder is an explanation in the making.
type explanationBuilder struct {
	spec.Explanation
	entry   *queueEntry // nil when the task does not wait
	retries string      // of the summary, what it says of other attempts
}

// startExplanation is an explanation as far as no host has to be asked.
func (s *Server) startExplanation(ctx context.Context, task string) (*explanationBuilder, error) {
	var q *explanationBuilder
	var unknown error
	if err := s.queryQueue(ctx, func(w *queueController) { q, unknown = w.explainTask(task) }); err != nil {
		return nil, err
	}
	if unknown == nil && q.entry != nil {
		queued := q.entry.withInfeasibility()
		q.Queue = &queued
	}
	return q, unknown
}

func (w *queueController) explainTask(id string) (*explanationBuilder, error) {
	view := w.state.View()
	task := view.Task(id)
	if task == nil {
		return nil, fmt.Errorf("task %q: %w", id, spec.ErrNotFound)
	}
	q := &explanationBuilder{Explanation: spec.Explanation{TaskID: id, Status: task.LastStatus, RetryOf: task.RetryOf}}
	if task.LastStatus == spec.Provisioning {
		waits := w.queueEntryOf(view, task)
		waits.Position, q.QueueLength = w.queue.Snapshot(task.Cluster, w.cfg.Now()).Position(w.queue.Item(id))
		q.entry = &waits
	} else {
		q.Summary = placementSummary(view, task)
	}
	if task.RetryOf != "" {
		q.retries = fmt.Sprintf(" It is retry %d of task %s.", task.Attempt, task.RetryOf)
	}
	if latest := batch.LatestAttempt(view, task); latest.Attempt > task.Attempt {
		q.RetryAs = latest.ID
		q.retries += fmt.Sprintf(" Task %s does its work again, as retry %d.", latest.ID, latest.Attempt)
	}
	return q, nil
}

// isQueued reports whether only a place is missing.
func (q *explanationBuilder) isQueued() bool { return q.entry != nil && q.entry.item != nil }

// build is the explanation with its summary.
func (q *explanationBuilder) build() spec.Explanation {
	e := q.Explanation
	switch {
	case q.isQueued() && e.Queue.Infeasible != nil:
		e.Summary = fmt.Sprintf("It waits in the queue of cluster %s for %s.", e.Queue.Cluster, e.Queue.WaitReason)
	case q.isQueued():
		e.Summary = fmt.Sprintf("It is number %d of %d in the queue of cluster %s and waits for %s.", e.Queue.Position, e.QueueLength, e.Queue.Cluster, e.Queue.WaitReason)
	case q.entry != nil:
		e.Summary = "It is not in line yet: " + e.Queue.WaitReason + "."
		if e.Queue.Infeasible != nil {
			e.Summary += " Then it waits for " + waitsForHost(q.entry.view, *e.Queue.Infeasible) + "."
		}
	}
	e.Summary += q.retries
	return e
}

// explainHosts adds what the hosts say to a task in line. One that has got its place meanwhile needs nothing of them.
func (w *queueController) explainHosts(q *explanationBuilder) {
	w.term.planner.inspect(func(view *raftfsm.View, fleet *schedule.HostSet) {
		if request := requestOf(view, q.entry.item); request != nil {
			w.explainPlacement(&q.Explanation, fleet, *request, q.entry.item)
		}
	})
}

// explainPlacement asks the hosts.
func (w *queueController) explainPlacement(e *spec.Explanation, fleet *schedule.HostSet, r schedule.Request, item *queue.Item) {
	now := w.cfg.Now()
	var willing int
	e.Hosts, willing = fleet.Refusals(r)
	head := w.queue.Head(item.Cluster)
	o, ok := fleet.FindReservation(r, w.endTime)
	for _, holder := range fleet.Blockers(r, o, w.endTime) {
		e.Blockers = append(e.Blockers, spec.Blocker{TaskID: holder.ID, HostID: holder.HostID, Group: holder.Group,
			Team: holder.SchedulingOptions().Team, GPUs: len(holder.GPUs()), Until: w.endTime(holder)})
	}
	switch {
	case e.Queue.Infeasible != nil:
		e.Estimate = "there is none before a host comes that can run it, or one of the cluster's becomes one"
	case !ok:
		e.Queue.WaitReason, e.Estimate = "a host that could run it to be well and heard of", "there is none: what the hosts say tells what is in the way"
	case head != nil && head != item && willing > 0:
		e.Queue.WaitReason = fmt.Sprintf("task %s, which comes before it and for which what is free is kept", head.ID())
		e.Estimate = "there is none before that task has started"
	case o.At.IsZero() && len(e.Blockers) > 0:
		e.Queue.WaitReason = waitsFor(e.Blockers)
		e.Estimate = "there is none: tasks that have to end first have no time limit (" + spec.TagTimeLimit + ")"
	default:
		at := o.At
		if at.Before(now) {
			at = now
		}
		e.Earliest = &at
		if e.Queue.WaitReason, e.Estimate = waitsFor(e.Blockers), "by the time limits of the tasks that have what it needs"; e.Queue.Position > 1 {
			e.Estimate += ", unless one that comes before it takes the place"
		}
	}
	if held, quota := w.queue.Teams.Usage(item.Team); quota >= 0 && w.queue.Borrows(item) {
		e.Estimate += fmt.Sprintf("; with it its team would have more than its quota (%d of %d GPUs now), so those who stay within theirs go first", held, quota)
	}
}

func waitsFor(holders []spec.Blocker) string {
	switch len(holders) {
	case 0:
		return "its turn"
	case 1:
		return "task " + holders[0].TaskID + " to end"
	case 2:
		return "task " + holders[1].TaskID + " and another one to end"
	}
	return fmt.Sprintf("task %s and %d others to end", holders[len(holders)-1].TaskID, len(holders)-1)
}

// asSentence is a text after another one, nothing when it is empty.
func asSentence(text string) string {
	if text == "" {
		return ""
	}
	return " " + strings.TrimSuffix(text, ".") + "."
}

// hostName is what people call a host, with the first digits of its id where another one has the same name.
func hostName(view *raftfsm.View, id string) string {
	known := view.Host(id)
	if known == nil {
		return id
	}
	for _, other := range view.Hosts("") {
		if other.Name == known.Name && other.ID != id {
			return fmt.Sprintf("%s (%.8s)", known.Name, id)
		}
	}
	return known.Name
}

// placementSummary is for a task that does not wait.
func placementSummary(view *raftfsm.View, t *spec.Task) string {
	host := hostName(view, t.HostID)
	switch {
	case t.LastStatus == spec.Stopped:
		return "It is over." + asSentence(t.StoppedReason)
	case t.DesiredStatus == spec.Stopped:
		return fmt.Sprintf("It is being stopped on host %s.", host) + asSentence(t.StoppedReason)
	case len(t.GPUs()) == 1:
		return fmt.Sprintf("It has a place on host %s with 1 GPU.", host)
	case len(t.GPUs()) > 0:
		return fmt.Sprintf("It has a place on host %s with %d GPUs.", host, len(t.GPUs()))
	}
	return fmt.Sprintf("It has a place on host %s.", host)
}
