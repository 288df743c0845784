package dispatch

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// inLeaderTime is the reports of a host whose clock is off, with their moments as the leader's clock has them: by when a task stopped
// its record is forgotten, and from when to when it ran its team is charged. A moment that is on record stays, so that a repeated
// report says the same.
func inLeaderTime(known func(task string) *spec.Task, reports []spec.TaskReport, offset time.Duration, now time.Time) []spec.TaskReport {
	reports = slices.Clone(reports)
	for i := range reports {
		recorded := spec.TaskTimes{}
		if task := known(reports[i].TaskID); task != nil {
			recorded = task.Times
		}
		was, is := momentsOf(&recorded), momentsOf(&reports[i].Times)
		for n, moment := range is {
			switch {
			case moment.IsZero():
			case !was[n].IsZero():
				*moment = *was[n]
			default:
				if *moment = moment.Add(-offset); moment.After(now) {
					*moment = now
				}
			}
		}
	}
	return reports
}

// momentTolerance is how far outside of a task's life a moment may be that its host reports: the clocks of hosts that count as right differ by less.
const momentTolerance = time.Minute

// withinLife is the reports of a host with no moment before its task was made, and none that is still to come: a host has no other say in how
// long a record is kept and what its team is charged. now and a task's creation are of the leader's clock.
func withinLife(known func(task string) *spec.Task, reports []spec.TaskReport, now time.Time) []spec.TaskReport {
	reports = slices.Clone(reports)
	for i := range reports {
		task := known(reports[i].TaskID)
		if task == nil {
			continue
		}
		recorded := task.Times
		was, is := momentsOf(&recorded), momentsOf(&reports[i].Times)
		for n, moment := range is {
			early, late := moment.Before(task.CreatedAt.Add(-momentTolerance)), moment.After(now.Add(momentTolerance))
			switch {
			case moment.IsZero() || !early && !late:
			case !was[n].IsZero():
				*moment = *was[n]
			case early:
				*moment = task.CreatedAt
			default:
				*moment = now
			}
		}
		for n := range reports[i].Containers {
			if totals := reports[i].Containers[n].GPUTotals; totals != nil && !totals.IdleSince.IsZero() { // nothing but what people are told follows from it
				totals.IdleSince = clampTime(totals.IdleSince, task.CreatedAt, now)
			}
		}
	}
	return reports
}

// clampTime is the moment between two others that is nearest to at.
func clampTime(at, from, to time.Time) time.Time {
	switch {
	case at.Before(from):
		return from
	case at.After(to):
		return to
	}
	return at
}

func momentsOf(t *spec.TaskTimes) [6]*time.Time {
	return [6]*time.Time{&t.PullStarted, &t.PullStopped, &t.Started, &t.Stopping, &t.ExecutionStopped, &t.Stopped}
}

// stampTargets says since when the targets of reports are as they are: since now by the leader's clock, or what is on record already. The lists
// of targets are the caller's own.
func stampTargets(known func(task string) *spec.Task, reports []spec.TaskReport, now time.Time) {
	for _, r := range reports {
		task := known(r.TaskID)
		if task == nil {
			continue
		}
		for i := range r.Targets {
			h := &r.Targets[i]
			h.Since = now
			if was := traffic.FindHealth(task.Targets, h.Group, h.Container, h.Port); was != nil && was.State == h.State {
				h.Since = was.Since
			}
		}
	}
}
