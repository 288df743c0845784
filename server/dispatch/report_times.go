package dispatch

import (
	"slices"
	"time"

	"pinion/raftfsm/spec"
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

func momentsOf(t *spec.TaskTimes) [6]*time.Time {
	return [6]*time.Time{&t.PullStarted, &t.PullStopped, &t.Started, &t.Stopping, &t.ExecutionStopped, &t.Stopped}
}
