package dispatch

import (
	"testing"
	"time"

	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

// The leader says since when a target is as it is, and a report that says the same again changes nothing.
func TestTheLeaderStampsTargets(t *testing.T) {
	first, later := time.Unix(100, 0), time.Unix(200, 0)
	task := &spec.Task{ID: "t", LastStatus: spec.Running, DesiredStatus: spec.Running}
	known := func(string) *spec.Task { return task }
	report := func(health traffic.TargetState, at time.Time) {
		reports := []spec.TaskReport{boundedReport(spec.TaskReport{TaskID: "t", Targets: []traffic.TargetHealth{{Group: "g", Container: "web", Port: 80, State: health, Since: time.Unix(1, 0)}}}, 1)}
		stampTargets(known, reports, at)
		task = task.WithReport(reports[0])
	}
	for _, step := range []struct {
		health traffic.TargetState
		at     time.Time
		since  time.Time
	}{
		{traffic.Healthy, first, first},
		{traffic.Healthy, later, first},
		{traffic.Unhealthy, later, later},
	} {
		report(step.health, step.at)
		if h := traffic.FindHealth(task.Targets, "g", "web", 80); h.State != step.health || !h.Since.Equal(step.since) || len(task.Targets) != 1 {
			t.Errorf("%+v", task.Targets)
		}
	}
}
