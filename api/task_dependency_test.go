package api

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

func TestATaskCannotWaitForWhatIsNotThere(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","group":"data"}`)
	after := func(what, group string) string {
		return `{"taskDefinition":"tensorflow-1-gpu",` + through + `,"group":"` + group + `","tags":[{"key":"pinion.after","value":"` + what + `"}]}`
	}
	for what, message := range map[string]string{
		"any:0000": "The tag pinion.after names task 0000, which is not known: there was none of that id within the last hour.",
		"group:no": "The tag pinion.after names group no, of which cluster default has no task.",
		"group:me": "The tag pinion.after names group me, which is the group of the tasks themselves.",
	} {
		b.aws("RunTask", after(what, "me")).wantError(t, 400, invalid, message)
	}
	for _, what := range []string{firstTask, "any:" + arns + "task/default/" + firstTask, "group:data", firstTask + " any:group:data"} {
		if got := b.aws("RunTask", after(what, "me")); got.Code != 200 {
			t.Errorf("%s: %s", what, got.Body)
		}
	}
}

func TestATaskSaysItsNumberItsRankAndItsAttempt(t *testing.T) {
	index := 7
	for name, c := range map[string]struct {
		change func(*spec.Task)
		want   string
	}{
		"none":    {func(*spec.Task) {}, `"attributes":[]`},
		"array":   {func(t *spec.Task) { t.ArrayIndex = &index }, `"attributes":[{"name":"pinion.array-index","value":"7"}]`},
		"gang":    {func(t *spec.Task) { t.Gang = &spec.GangMember{ID: "g", Rank: 3, Size: 4} }, `"attributes":[{"name":"pinion.gang","value":"g"},{"name":"pinion.rank","value":"3"}]`},
		"attempt": {func(t *spec.Task) { t.RetryOf, t.Attempt, t.Failed = "f", 2, 1 }, `"attributes":[{"name":"pinion.retry-of","value":"f"},{"name":"pinion.attempt","value":"2"},{"name":"pinion.failed","value":"1"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			b := ready(t)
			b.must(t, "RunTask", `{"taskDefinition":"tensorflow-1-gpu",`+through+`}`)
			waits := *b.state.View().Task(firstTask)
			waits.ID = "0000000000000000000000000000abcd"
			c.change(&waits)
			b.mustApply(t, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: waits.Cluster, Tasks: []*spec.Task{&waits}}}})
			if got := b.must(t, "DescribeTasks", `{"tasks":["`+waits.ID+`"]}`).Body.String(); !strings.Contains(got, c.want) {
				t.Errorf("%s", got)
			}
		})
	}
}
