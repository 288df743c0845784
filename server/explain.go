package server

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/server/schedule"
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
	e := raftfsm.Explanation{TaskID: id, Status: task.LastStatus}
	if task.LastStatus != raftfsm.Provisioning {
		e.Summary = whereItIs(view, task)
		return e, nil
	}
	now := w.cfg.Now()
	entry := w.queued(view, task)
	e.Queue = &entry
	if entry.Place, e.Waiting = w.queue.Place(id, now); entry.Place == 0 {
		e.Summary = "It is not in line yet: " + entry.WaitsFor + "."
		return e, nil
	}
	item := w.queue.Item(id)
	w.term.planner.look(func(view *raftfsm.View, fleet *schedule.Fleet) {
		if request := requestOf(view, item); request != nil {
			w.explainPlace(&e, fleet, *request, item)
		}
	})
	e.Summary = fmt.Sprintf("It is number %d of %d in the queue of cluster %s and waits for %s.", entry.Place, e.Waiting, task.Cluster, entry.WaitsFor)
	return e, nil
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
	case len(e.Hosts)+willing == 0:
		e.Queue.WaitsFor, e.Estimate = "a host: the cluster has none", "there is none before a host comes"
	case !ok:
		e.Queue.WaitsFor, e.Estimate = "a host that can take it: none could, however empty", "there is none: what the hosts say tells what is missing"
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

// whereItIs is for a task that does not wait.
func whereItIs(view *raftfsm.View, t *raftfsm.Task) string {
	host := t.HostID
	if known := view.Host(t.HostID); known != nil {
		host = known.Name
	}
	switch {
	case t.LastStatus == raftfsm.Stopped:
		return strings.TrimSpace(fmt.Sprintf("It is over. %s", t.StoppedReason))
	case t.DesiredStatus == raftfsm.Stopped:
		return fmt.Sprintf("It is being stopped on host %s. %s", host, t.StoppedReason)
	case len(t.GPUs()) > 0:
		return fmt.Sprintf("It has a place on host %s with %d GPUs.", host, len(t.GPUs()))
	}
	return fmt.Sprintf("It has a place on host %s.", host)
}

// list is Queue.
func (w *waiting) list(cluster string) []raftfsm.Queued {
	view, now := w.state.View(), w.cfg.Now()
	list := []raftfsm.Queued{}
	var held []raftfsm.Queued
	for _, each := range view.Clusters() {
		if cluster != "" && each.Name != cluster {
			continue
		}
		for i, item := range w.queue.List(each.Name, now) {
			if task := view.Task(item.ID()); task != nil && task.LastStatus == raftfsm.Provisioning {
				entry := w.queued(view, task)
				entry.Place = i + 1
				list = append(list, entry)
			}
		}
	}
	for task := range view.Waiting(cluster) {
		if !w.queue.Waits(task.ID) && !w.inFlight(task.ID) && (task.Gang == nil || task.Gang.Rank == 0) {
			held = append(held, w.queued(view, task))
		}
	}
	slices.SortStableFunc(held, func(a, b raftfsm.Queued) int { return a.Since.Compare(b.Since) })
	return append(list, held...)
}

// queued is a task that waits, but for its place.
func (w *waiting) queued(view *raftfsm.View, t *raftfsm.Task) raftfsm.Queued {
	terms := t.Terms()
	q := raftfsm.Queued{TaskID: t.ID, Tasks: 1, Cluster: t.Cluster, Group: t.Group, Team: terms.Team, Priority: terms.Priority,
		CPU: t.CPU, MemoryMiB: t.MemoryMiB, Since: t.CreatedAt}
	if t.Gang != nil {
		q.Tasks = t.Gang.Size
	}
	if definition := view.Definition(t.Definition); definition != nil {
		q.GPUs = max(0, raftfsm.DemandOf(raftfsm.Effective(definition, t.Overrides)).AllGPUs())
	}
	switch {
	case t.Held():
		var words []string
		for _, after := range t.WaitsFor() {
			words = append(words, after.String())
		}
		q.WaitsFor = strings.Join(words, " ") + " to end (" + raftfsm.TagAfter + ")"
	case !w.due[t.ID].IsZero():
		q.WaitsFor = w.due[t.ID].UTC().Format(time.RFC3339) + ", before which it is not tried again"
	case w.inFlight(t.ID):
		q.WaitsFor = "nothing: it has a place, which is being recorded"
	case !w.queue.Waits(t.ID):
		q.WaitsFor = "the other tasks of its gang, which are not all in line"
	default:
		q.WaitsFor = w.shortly(t)
	}
	return q
}

// shortly is what a task in line waits for, in a few words.
func (w *waiting) shortly(t *raftfsm.Task) string {
	head := w.queue.Head(t.Cluster)
	if head == nil || slices.Contains(head.Tasks, t.ID) {
		return "room on a host"
	}
	return "its turn"
}
