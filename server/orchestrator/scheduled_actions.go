package orchestrator

import (
	"slices"
	"time"

	"pinion/raftfsm/scaling"
)

// maxDueActions bounds the scheduled actions that are carried out in one pass, each by a log entry.
const maxDueActions = 500

// scheduledActions finds the scheduled actions that are due. A pass has bounds, and so has each target in it, so that the actions of one service hold up no
// other: the target at which a pass ends comes first in the next one.
type scheduledActions struct {
	ticks *scaling.CronCache
	next  string // id of the service of the first target of the next pass
}

func newScheduledActions() *scheduledActions {
	return &scheduledActions{ticks: scaling.NewCronCache(time.Now)}
}

// due lists for each target the names of its actions that are due, by the times for which they are.
func (s *scheduledActions) due(targets []*scaling.Target, now time.Time) [][]string {
	all := make([][]string, len(targets))
	s.ticks.StartPass()
	first := max(0, slices.IndexFunc(targets, func(t *scaling.Target) bool { return t.ServiceID == s.next }))
	left := maxDueActions
	for n := range targets {
		i := (first + n) % len(targets)
		var names []string
		inTime := s.ticks.StartTarget()
		if inTime {
			names = s.dueOf(targets[i], now)
		}
		cut := min(left, len(names))
		all[i], left = names[:cut], left-cut
		if !inTime || cut < len(names) {
			s.next = targets[i].ServiceID
			break
		}
	}
	return all
}

// dueOf is due for one target; none when its turn has no time for all of its actions.
func (s *scheduledActions) dueOf(t *scaling.Target, now time.Time) (names []string) {
	if t.Suspended.Scheduled {
		return nil
	}
	times := map[string]time.Time{}
	for i := range t.Actions {
		due, found := s.ticks.Due(&t.Actions[i], now)
		if !found {
			return nil // all in the order of their times, or none
		}
		if !due.IsZero() {
			names = append(names, t.Actions[i].Name)
			times[t.Actions[i].Name] = due
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return times[a].Compare(times[b]) })
	return names
}
