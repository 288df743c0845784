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
