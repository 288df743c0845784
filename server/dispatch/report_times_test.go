package dispatch

import (
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// A host's clock is off by days, and what it reports is recorded as the leader's clock has it.
func TestMomentsOfAHostWhoseClockIsOffAreTheLeaders(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, offset := range []time.Duration{-48 * time.Hour, -10 * time.Minute, time.Hour, 48 * time.Hour} {
		started := now.Add(-30 * time.Minute)
		recorded := &spec.Task{ID: "t", Times: spec.TaskTimes{Started: started}}
		known := func(task string) *spec.Task {
			if task == recorded.ID {
				return recorded
			}
			return nil
		}
		reports := []spec.TaskReport{
			{TaskID: "t", Times: spec.TaskTimes{Started: started.Add(offset + 7*time.Second), Stopped: now.Add(offset - time.Second)}}, // the offset was measured anew
			{TaskID: "new", Times: spec.TaskTimes{Started: now.Add(offset + time.Second)}},
		}
		got := inLeaderTime(known, reports, offset, now)
		if times := got[0].Times; !times.Started.Equal(started) || !times.Stopped.Equal(now.Add(-time.Second)) || !times.PullStarted.IsZero() {
			t.Errorf("off by %v: %+v", offset, times)
		}
		if times := got[1].Times; !times.Started.Equal(now) {
			t.Errorf("off by %v: a task that starts now has started at %v", offset, times.Started)
		}
		if !reports[1].Times.Started.Equal(now.Add(offset + time.Second)) {
			t.Error("the host's own reports were changed")
		}
	}
}

// A host says when its tasks started and stopped, and nothing that keeps their records for ever or charges a team for years.
func TestMomentsOutsideOfATasksLifeAreNotBelieved(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	created, stopped := now.Add(-time.Hour), now.Add(-time.Minute)
	tasks := map[string]*spec.Task{"new": {ID: "new", CreatedAt: created}, "over": {ID: "over", CreatedAt: created, Times: spec.TaskTimes{Stopped: stopped}}}
	known := func(id string) *spec.Task { return tasks[id] }
	beyond := time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -86340)) // in the year 10000, which no JSON can say
	for _, k := range []struct {
		task       string
		said, want time.Time
	}{
		{"new", beyond, now}, {"new", now.AddDate(0, 1, 0), now}, {"new", time.Unix(0, 0), created}, {"new", created.AddDate(0, -1, 0), created},
		{"new", now.Add(time.Second), now.Add(time.Second)}, {"new", created.Add(time.Second), created.Add(time.Second)}, {"new", time.Time{}, time.Time{}},
		{"over", beyond, stopped}, {"over", time.Unix(0, 0), stopped}, {"over", stopped, stopped}, {"unknown", beyond, beyond},
	} {
		given := []spec.TaskReport{{TaskID: k.task, Times: spec.TaskTimes{Stopped: k.said}}}
		if got := withinLife(known, given, now); !got[0].Times.Stopped.Equal(k.want) || !given[0].Times.Stopped.Equal(k.said) {
			t.Errorf("%s, %v: recorded as %v", k.task, k.said, got[0].Times.Stopped)
		}
	}
}
