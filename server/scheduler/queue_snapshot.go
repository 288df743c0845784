package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule"
	"pinion/server/schedule/queue"
)

// queueSnapshot is the queue at one moment, for a reader on its own goroutine: neither listing nor explaining it holds up
// placement. Taking one costs a step for each fifo of its clusters, and not for each task.
type queueSnapshot struct {
	now        time.Time
	view       *raftfsm.View
	clusters   []clusterSnapshot   // by name
	committing []map[string]bool   // tasks whose placement is in flight
	infeasible *infeasibilityCache // of the hosts as they are

	// Of the task that was asked for.
	item  *queue.Item // nil: it is not in the queue
	quota quotaUse    // of its team
}

type clusterSnapshot struct {
	name string
	*queue.Snapshot
}

// quotaUse is what a team uses of its quota.
type quotaUse struct {
	held, quota int // thousandths of GPUs; a negative quota: none
	borrows     bool
}

// snapshotQuery asks the queue controller for a snapshot of a cluster, or of the cluster of a task; of all when both are empty.
type snapshotQuery struct {
	cluster, task string
	reply         chan *queueSnapshot // has room for it
}

// snapshot answers a query; the controller's loop calls it.
func (w *queueController) snapshot(q snapshotQuery) *queueSnapshot {
	s := &queueSnapshot{now: w.node.Now(), view: w.node.State().View(), infeasible: w.infeasible}
	if q.task != "" {
		task := s.view.Task(q.task)
		if task == nil {
			return s
		}
		q.cluster = task.Cluster
		if s.item = w.queue.Item(q.task); s.item != nil {
			s.quota.held, s.quota.quota = w.queue.Teams.Usage(s.item.Team)
			s.quota.borrows = w.queue.Borrows(s.item)
		}
	}
	for _, cluster := range s.view.Clusters() {
		if q.cluster == "" || cluster.Name == q.cluster {
			s.clusters = append(s.clusters, clusterSnapshot{cluster.Name, w.queue.Snapshot(cluster.Name, s.now)})
		}
	}
	for r := range w.committing {
		s.committing = append(s.committing, r.ids) // they do not change any more
	}
	return s
}

// queueSnapshot takes a snapshot that has every acknowledged change.
func (s *Scheduler) queueSnapshot(ctx context.Context, cluster, task string) (*queueSnapshot, error) {
	t, err := s.currentTerm(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.node.CheckLeader(ctx); err != nil {
		return nil, err
	}
	q := snapshotQuery{cluster, task, make(chan *queueSnapshot, 1)}
	select {
	case t.controller.queries <- q:
		return <-q.reply, nil
	case <-t.ctx.Done():
		return nil, spec.ErrNotLeader
	case <-ctx.Done():
		return nil, fmt.Errorf("%w (%w)", spec.ErrBusy, context.Cause(ctx))
	}
}

// Queue lists the pending tasks of a cluster, of all when it is empty: by cluster and position, tasks that something holds
// back at the end.
func (s *Scheduler) Queue(ctx context.Context, cluster string) ([]spec.QueueItem, error) {
	q, err := s.queueSnapshot(ctx, cluster, "")
	if err != nil {
		return nil, err
	}
	return q.list(cluster), nil
}

func (q *queueSnapshot) list(cluster string) (list []spec.QueueItem) {
	queued := map[string]bool{} // task ids
	for _, c := range q.clusters {
		for i, item := range c.List() {
			for _, id := range item.Tasks {
				queued[id] = true
			}
			if task := q.view.Task(item.ID()); task != nil && task.LastStatus == spec.Provisioning {
				queued := q.queuedTask(task, item, c.Head())
				queued.Position = i + 1
				list = append(list, queued.withInfeasibility())
			}
		}
	}
	var heldBack []spec.QueueItem
	for task := range q.view.QueuedTasks(cluster) {
		if !queued[task.ID] && !q.isCommitting(task.ID) && (task.Gang == nil || task.Gang.Rank == 0) {
			queued := q.queuedTask(task, nil, nil)
			heldBack = append(heldBack, queued.withInfeasibility())
		}
	}
	slices.SortStableFunc(heldBack, func(a, b spec.QueueItem) int { return a.Since.Compare(b.Since) })
	return append(list, heldBack...)
}

func (q *queueSnapshot) isCommitting(task string) bool {
	return slices.ContainsFunc(q.committing, func(ids map[string]bool) bool { return ids[task] })
}

// queuedTask describes a pending task, but for its position and infeasibility. item is nil when it is not in the queue.
func (q *queueSnapshot) queuedTask(t *spec.Task, item, head *queue.Item) queuedTask {
	options := t.SchedulingOptions()
	e := queuedTask{view: q.view, infeasible: q.infeasible, task: t, item: item}
	e.QueueItem = spec.QueueItem{TaskID: t.ID, Tasks: 1, Cluster: t.Cluster, Group: t.Group, Definition: t.Definition, Team: options.Team, Key: t.KeyOwner(), Priority: options.Priority,
		CPU: t.CPU, MemoryMiB: t.MemoryMiB, GPUChoices: schedule.GPUChoices(options), Since: t.CreatedAt}
	if t.Gang != nil {
		e.Tasks = t.Gang.Size
	}
	if t.ArrayIndex != nil {
		e.Index = strconv.Itoa(*t.ArrayIndex)
	}
	if definition := q.view.Definition(t.Definition); definition != nil {
		e.definition = spec.Effective(definition, t.Overrides.Get())
		demand := spec.DemandOf(e.definition)
		e.GPUs, e.GPUMiB = max(0, demand.TotalGPUs()), demand.ShareMiB()
	}
	e.WaitReason = q.waitReason(t, item, head)
	return e
}

// waitsForRelease says why a task is held before it says who holds it: where the text is cut, the reason stays.
func waitsForRelease(hold spec.TaskHold) string {
	why := ""
	if hold.Reason != "" {
		why, hold.Reason = ": "+hold.Reason, ""
	}
	return fmt.Sprintf("its release%s (%s)", why, &hold)
}

// waitReason is what a pending task waits for, in a few words.
func (q *queueSnapshot) waitReason(t *spec.Task, item, head *queue.Item) string {
	switch {
	case t.Held():
		return waitsForRelease(*t.Hold)
	case t.Blocked():
		var words []string
		for _, dependency := range t.Dependencies() {
			words = append(words, dependency.Describe())
		}
		return strings.Join(words, " and ") + " (" + spec.TagAfter + ")"
	case retryAt(t).After(q.now):
		return retryAt(t).UTC().Format(time.RFC3339) + ", before which it is not tried again"
	case q.isCommitting(t.ID):
		return "nothing: it has a place, which is being recorded"
	case item == nil:
		return "the other tasks of its gang, which are not all in the queue"
	case waitsForActivation(q.view, t.Cluster) != "":
		return waitsForActivation(q.view, t.Cluster)
	case head == nil || head == item:
		return "free capacity on a host"
	}
	return "its turn"
}
