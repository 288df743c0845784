package scheduler

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/queue"
)

// defaultStopTimeout is how long a task takes to stop at most when it says nothing else: stopTimeout of ECS.
const defaultStopTimeout = 30 * time.Second

// placedTask is a task with a place that has a time limit, may be preempted, or is stopping.
type placedTask struct {
	team        string
	milli       int // of GPUs, in thousandths of one
	priority    int
	preemptible bool
	limit       time.Duration // 0: none
	placedAt    time.Time     // when this leader first saw it with a place
	startedAt   time.Time     // when it started, as near as the leader's clock can tell; zero: not yet
	runningSeen time.Time     // when this leader first saw that it had started; zero: not yet
	stoppingAt  time.Time     // when it was asked to stop; zero: it was not
}

// placedTasks are placed tasks by id.
type placedTasks map[string]*placedTask

// track takes in a task that has a place.
func (p placedTasks) track(t *spec.Task, options spec.SchedulingOptions, now time.Time) {
	if options.TimeLimit == 0 && !options.Preemptible && t.DesiredStatus != spec.Stopped {
		delete(p, t.ID) // its tags may have been others
		return
	}
	placed := p[t.ID]
	if placed == nil {
		placed = &placedTask{placedAt: now}
		p[t.ID] = placed
	}
	placed.team, placed.priority, placed.preemptible, placed.limit = options.Team, options.Priority, options.Preemptible, options.TimeLimit
	placed.milli = t.GPUMilli()
	if !t.Times.Started.IsZero() && placed.runningSeen.IsZero() {
		placed.startedAt, placed.runningSeen = startedAt(t, now), now
	}
	if t.DesiredStatus == spec.Stopped {
		placed.stoppingAt = earlier(cmp.Or(t.Times.Stopping, placed.placedAt), now)
	}
}

// startedAt is when a task started, which its host has recorded by its own clock, as a moment that can be by the clock here: not
// before the task was made, and not to come. Zero: it has not started.
func startedAt(t *spec.Task, now time.Time) time.Time {
	switch {
	case t.Times.Started.IsZero():
		return time.Time{}
	case t.Times.Started.Before(t.CreatedAt):
		return earlier(t.CreatedAt, now)
	}
	return earlier(t.Times.Started, now)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// endTime is schedule.EndTime.
func (p placedTasks) endTime(t *spec.Task) time.Time {
	if placed := p[t.ID]; placed != nil {
		return placed.endTime()
	}
	return time.Time{}
}

// endTime is the moment at which the task has ended at the latest; zero: it does not end by itself. A time limit counts from the
// start of the task.
func (p *placedTask) endTime() time.Time {
	switch {
	case !p.stoppingAt.IsZero():
		return p.stoppingAt.Add(defaultStopTimeout)
	case p.limit == 0:
		return time.Time{}
	}
	return p.heldSince().Add(p.limit)
}

// heldSince is the moment since which the task has its place.
func (p *placedTask) heldSince() time.Time { return cmp.Or(p.startedAt, p.placedAt) }

// recordedEndTime is endTime by the record of a task alone. A task that has not started counts as starting now.
func recordedEndTime(t *spec.Task, now time.Time) time.Time {
	one := placedTasks{}
	one.track(t, t.SchedulingOptions(), now)
	return one.endTime(t)
}

// timedOut stops the tasks that have reached their time limit, by the time that this leader has known of their start: no
// other machine's clock counts. Their hosts do the same and are first, so this is for a host that does not. The limit of a gang
// is reached by its first task.
func (p placedTasks) timedOut(view *raftfsm.View, now time.Time) []raftfsm.StopTask {
	stops := map[string]raftfsm.StopTask{}
	for id, placed := range p {
		if placed.limit == 0 || !placed.stoppingAt.IsZero() || placed.runningSeen.IsZero() || now.Sub(placed.runningSeen) < placed.limit {
			continue
		}
		reason := spec.TimeLimitReason(placed.limit)
		for _, mate := range gangMembers(view, id) {
			stops[mate] = raftfsm.StopTask{ID: mate, Code: spec.StopScheduler, At: now, Reason: reason}
		}
	}
	for id := range stops {
		p.stopping(id, now)
	}
	return slices.Collect(maps.Values(stops))
}

// gangMembers are the task and the tasks of its gang that are not stopping.
func gangMembers(view *raftfsm.View, id string) []string {
	task := view.Task(id)
	if task == nil || task.Gang == nil {
		return []string{id}
	}
	var ids []string
	for _, mate := range view.Gang(task.Gang.ID) {
		if mate.DesiredStatus != spec.Stopped {
			ids = append(ids, mate.ID)
		}
	}
	return ids
}

// stopping records when a task was asked to stop; zero: it could not be asked.
func (p placedTasks) stopping(id string, at time.Time) {
	if placed := p[id]; placed != nil {
		placed.stoppingAt = at
	}
}

// anyPreemptible reports whether a task may be stopped for another.
func (p placedTasks) anyPreemptible() bool {
	for _, placed := range p {
		if placed.preemptible && placed.stoppingAt.IsZero() {
			return true
		}
	}
	return false
}

// borrowed are the tasks beyond the quota of their team: its cheapest preemptible tasks, as many as it takes until the rest,
// without those that are stopping, is within the quota.
func (p placedTasks) borrowed(teams *queue.Teams) map[string]bool {
	over := map[string]int{} // thousandths of GPUs beyond the quota, by team
	var may []string
	for id, placed := range p {
		if _, known := over[placed.team]; !known {
			held, quota := teams.Usage(placed.team)
			over[placed.team] = held - max(0, quota)
		}
		if !placed.stoppingAt.IsZero() {
			over[placed.team] -= placed.milli
		} else if placed.preemptible && placed.milli > 0 {
			may = append(may, id)
		}
	}
	slices.SortFunc(may, func(a, b string) int {
		one, other := p[a], p[b]
		return cmp.Or(cmp.Compare(one.priority, other.priority), other.heldSince().Compare(one.heldSince()), strings.Compare(a, b))
	})
	borrowed := map[string]bool{}
	for _, id := range may {
		if placed := p[id]; over[placed.team] > 0 {
			borrowed[id] = true
			over[placed.team] -= placed.milli
		}
	}
	return borrowed
}
