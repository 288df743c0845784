package scheduler

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/gpuuse"
	"pinion/raftfsm/loadbalancer"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
	"pinion/server/schedule"
	"pinion/server/schedule/batch"
)

// Explain tells why a task is where it is: of a pending task its position in the queue, what each host refuses it for,
// which tasks have what it needs, and when it can start. spec.ErrNotFound.
func (s *Scheduler) Explain(ctx context.Context, task string) (spec.Explanation, error) {
	e, err := s.explanation(ctx, task)
	if err != nil {
		return spec.Explanation{}, err
	}
	s.askHosts(e)
	return e.build(), nil
}

// askHosts adds what hosts say to a queued task. It has its own copy of the hosts, so no plan waits for it.
func (s *Scheduler) askHosts(e *explanationBuilder) {
	if e.isQueued() {
		e.addHosts(schedule.HostsOf(e.snapshot.view, e.queued.Cluster, s.known.Schedulable))
	}
}

// ExplainBriefly is Explain without asking every host: of a pending task it tells the position in the queue, and why it is
// infeasible.
func (s *Scheduler) ExplainBriefly(ctx context.Context, task string) (spec.Explanation, error) {
	e, err := s.explanation(ctx, task)
	if err != nil {
		return spec.Explanation{}, err
	}
	return e.build(), nil
}

// explanationBuilder makes an explanation from a snapshot of the queue.
type explanationBuilder struct {
	spec.Explanation
	snapshot *queueSnapshot
	queued   *queuedTask // nil when the task is not pending
	attempts string      // what the summary says of other attempts
}

// explanation is an explanation as far as no host has to be asked.
func (s *Scheduler) explanation(ctx context.Context, id string) (*explanationBuilder, error) {
	q, err := s.queueSnapshot(ctx, "", id)
	if err != nil {
		return nil, err
	}
	task := q.view.Task(id)
	if task == nil {
		return nil, fmt.Errorf("task %q: %w", id, spec.ErrNotFound)
	}
	e := &explanationBuilder{snapshot: q, Explanation: spec.Explanation{TaskID: id, Status: task.LastStatus, RetryOf: task.RetryOf}}
	if task.LastStatus == spec.Provisioning {
		e.addQueue(task)
	} else {
		e.Summary = placementSummary(q.view, task)
	}
	e.addAttempts(task)
	return e, nil
}

// addQueue adds the position in the queue, and the infeasibility.
func (e *explanationBuilder) addQueue(task *spec.Task) {
	q := e.snapshot
	queued := q.queuedTask(task, q.item, nil)
	if len(q.clusters) > 0 {
		cluster := q.clusters[0]
		queued = q.queuedTask(task, q.item, cluster.Head())
		queued.Position, e.QueueLength = cluster.Position(q.item)
	}
	item := queued.withInfeasibility()
	e.queued, e.Queue = &queued, &item
}

// addAttempts adds the retries of the task's work.
func (e *explanationBuilder) addAttempts(task *spec.Task) {
	if task.RetryOf != "" {
		e.attempts = fmt.Sprintf(" It is retry %d of task %s.", task.Attempt, task.RetryOf)
	}
	if latest := batch.LatestAttempt(e.snapshot.view, task); latest.Attempt > task.Attempt {
		e.RetryAs = latest.ID
		e.attempts += fmt.Sprintf(" Task %s does its work again, as retry %d.", latest.ID, latest.Attempt)
	}
}

// isQueued reports whether the task is in the queue: only a place is missing.
func (e *explanationBuilder) isQueued() bool { return e.queued != nil && e.queued.item != nil }

// build is the explanation with its summary.
func (e *explanationBuilder) build() spec.Explanation {
	x := e.Explanation
	switch {
	case e.isQueued() && x.Queue.Infeasible != nil:
		x.Summary = fmt.Sprintf("It waits in the queue of cluster %s for %s.", x.Queue.Cluster, x.Queue.WaitReason)
	case e.isQueued():
		x.Summary = fmt.Sprintf("It is number %d of %d in the queue of cluster %s and waits for %s.", x.Queue.Position, x.QueueLength, x.Queue.Cluster, x.Queue.WaitReason)
	case e.queued != nil && e.queued.task.Held():
		x.Summary = fmt.Sprintf("It is %s. It waits until it is released (pinion task release).", e.queued.task.Hold)
	case e.queued != nil:
		x.Summary = "It is not in the queue yet: it waits for " + x.Queue.WaitReason + "."
		if x.Queue.Infeasible != nil {
			x.Summary += " Then it waits for " + waitsForHost(e.snapshot.view, *x.Queue.Infeasible) + "."
		}
	}
	x.Summary += e.attempts
	return x
}

// addHosts adds what the hosts say: refusals, the tasks in the way, and the earliest start.
func (e *explanationBuilder) addHosts(hosts *schedule.HostSet) {
	q, item := e.snapshot, e.queued.item
	request := requestOf(q.view, item)
	if request == nil {
		return
	}
	endTime := func(t *spec.Task) time.Time { return recordedEndTime(t, q.now) }
	var willing int
	e.Hosts, willing = hosts.Refusals(*request)
	reservation, ok := hosts.FindReservation(*request, endTime)
	for _, blocker := range hosts.Blockers(*request, reservation, endTime) {
		e.Blockers = append(e.Blockers, spec.Blocker{TaskID: blocker.ID, HostID: blocker.HostID, Group: blocker.Group,
			Team: blocker.SchedulingOptions().Team, GPUs: len(blocker.GPUs()), Until: endTime(blocker)})
	}
	head := q.clusters[0].Head()
	switch {
	case e.Queue.Infeasible != nil:
		e.Estimate = "unknown: no host of the cluster is able to run it"
	case waitsForActivation(q.view, e.Queue.Cluster) != "":
		e.Estimate = "unknown: no host of the cluster takes tasks"
	case !ok:
		e.Queue.WaitReason, e.Estimate = "a host that could run it to be connected and healthy", "unknown: see why each host refuses it"
	case head != nil && head != item && willing > 0:
		e.Queue.WaitReason = fmt.Sprintf("task %s, which is ahead of it and for which the free capacity is reserved", head.ID())
		e.Estimate = "unknown: after that task has started" + e.backfillHint(hosts, endTime)
	case reservation.At.IsZero() && len(e.Blockers) > 0:
		e.Queue.WaitReason = waitsFor(e.Blockers)
		e.Estimate = "unknown: tasks that have to end first have no time limit (" + spec.TagTimeLimit + ")"
	default:
		e.estimate(reservation.At)
	}
	if q.quota.quota >= 0 && q.quota.borrows {
		e.Estimate += fmt.Sprintf("; its team would exceed its quota (%g of %g GPUs in use), so teams within their quotas go first",
			float64(q.quota.held)/gpuuse.Milli, float64(q.quota.quota)/gpuuse.Milli)
	}
}

// backfillHint says with which time limit the task could start now beside the reservation of the head of the queue.
func (e *explanationBuilder) backfillHint(hosts *schedule.HostSet, endTime func(*spec.Task) time.Time) string {
	item := e.queued.item
	request := requestOf(e.snapshot.view, e.snapshot.clusters[0].Head())
	if request == nil {
		return ""
	}
	head, ok := hosts.FindReservation(*request, endTime)
	switch left := head.At.Sub(e.snapshot.now).Truncate(time.Minute); { // whole minutes: it takes a moment to ask for it
	case !ok:
		return ""
	case head.At.IsZero() && item.Limit == 0:
		return fmt.Sprintf("; with a time limit (%s) it could start now", spec.TagTimeLimit)
	case !head.At.IsZero() && left > 0 && (item.Limit == 0 || item.Limit > left):
		return fmt.Sprintf("; with a time limit (%s) of at most %s it could start now", spec.TagTimeLimit, left)
	}
	return ""
}

// estimate adds the earliest start.
func (e *explanationBuilder) estimate(at time.Time) {
	if at.Before(e.snapshot.now) {
		at = e.snapshot.now
	}
	e.Earliest = &at
	e.Queue.WaitReason, e.Estimate = waitsFor(e.Blockers), "by the time limits of the tasks that hold what it needs"
	if e.Queue.Position > 1 {
		e.Estimate += ", unless a task ahead of it is placed there first"
	}
}

func waitsFor(blockers []spec.Blocker) string {
	switch len(blockers) {
	case 0:
		return "its turn"
	case 1:
		return "task " + blockers[0].TaskID + " to end"
	case 2:
		return "task " + blockers[1].TaskID + " and another one to end"
	}
	return fmt.Sprintf("task %s and %d others to end", blockers[len(blockers)-1].TaskID, len(blockers)-1)
}

// asSentence is a text to append to another sentence; nothing when it is empty.
func asSentence(text string) string {
	if text == "" {
		return ""
	}
	return " " + strings.TrimSuffix(text, ".") + "."
}

// hostName is the name of a host, with the first digits of its id where another host has the same name.
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

// placementSummary tells where a task is that is not pending.
func placementSummary(view *raftfsm.View, t *spec.Task) string {
	host := hostName(view, t.HostID)
	switch {
	case t.LastStatus == spec.Stopped:
		return "It has stopped." + asSentence(t.StoppedReason)
	case t.DesiredStatus == spec.Stopped:
		return fmt.Sprintf("It is being stopped on host %s.", host) + asSentence(t.StoppedReason)
	case t.SharesGPU():
		host += fmt.Sprintf(" with %g of a GPU", float64(t.GPUMilli())/gpuuse.Milli)
	case len(t.GPUs()) == 1:
		host += " with 1 GPU"
	case len(t.GPUs()) > 0:
		host += fmt.Sprintf(" with %d GPUs", len(t.GPUs()))
	}
	return fmt.Sprintf("It is placed on host %s.", host) + targetSummary(view, t) + idleSummary(t) + faultSummary(view, t) + drainSummary(view.Host(t.HostID))
}

// idleSummary tells that the GPUs of a task do nothing, for which it is going to be stopped.
func idleSummary(t *spec.Task) string {
	since, options := t.GPUTotals().IdleSince, t.SchedulingOptions()
	if since.IsZero() || options.IdleTimeout == 0 {
		return ""
	}
	does := "is stopped"
	if options.IdleRequeue {
		does = "is stopped and queues again"
	}
	return fmt.Sprintf(" Its GPUs have done nothing since %s. When they go on so it %s at %s (%s).",
		since.UTC().Format(time.RFC3339), does, since.Add(options.IdleTimeout).UTC().Format(time.RFC3339), spec.TagIdleTimeout)
}

// targetSummary tells which of a task's targets its host finds unhealthy, and why.
func targetSummary(view *raftfsm.View, t *spec.Task) (text string) {
	for i := range t.Targets {
		if h := &t.Targets[i]; h.State == traffic.Unhealthy {
			group := h.Group // of Service Connect, where it is a name
			if known := loadbalancer.FindGroup(view, group); known != nil {
				group = known.Name
			}
			text += fmt.Sprintf(" Port %d of container %s is unhealthy in the target group %s.", h.Port, h.Container, group) + asSentence(h.Detail)
		}
	}
	return text
}
