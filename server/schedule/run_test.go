package schedule

import (
	"testing"

	"pinion/raftfsm/spec"
)

func TestTasksThatAreMadeTogetherShareTheirDigests(t *testing.T) {
	hosts := []Host{host("h1", 4), host("h2", 4)}
	disabled := request(2, 0)
	disabled.Definition.Containers[0].VersionConsistency = spec.VersionConsistencyDisabled
	named := request(0, 0)
	named.Run.Hosts = []string{"h1", "h2"}
	for name, c := range map[string]struct {
		tasks []*spec.Task
		share bool
	}{
		"two tasks":               {plan(hosts, request(2, 0)).Tasks, true},
		"two that wait":           {NewPendingTasks(request(2, 0)), true},
		"two on named hosts":      {plan(hosts, named).Tasks, true},
		"one task":                {plan(hosts, request(1, 0)).Tasks, false},
		"two that resolve apart":  {plan(hosts, disabled).Tasks, false},
		"retries of two attempts": {[]*spec.Task{retryOf(plan(hosts, request(2, 0)).Tasks[1]), retryOf(plan(hosts, request(2, 0)).Tasks[0])}, true},
	} {
		want := ""
		if c.share {
			want = c.tasks[0].Run
		}
		for _, task := range c.tasks {
			if task.Run != want || c.share && want == "" {
				t.Errorf("%s: task %s is of run %q", name, task.ID, task.Run)
			}
		}
	}
}

func retryOf(t *spec.Task) *spec.Task { return RetryTask(t, ids(), "", now, now) }
