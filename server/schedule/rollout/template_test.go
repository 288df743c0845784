package rollout

import (
	"fmt"
	"slices"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

// How the tasks of a service are scheduled says the service alone, as it was granted when that was said. Who may tag its task definition
// gives them no team and no priority, and takes none away, however many tags there are.
func TestADefinitionDoesNotSayHowTasksOfAServiceAreScheduled(t *testing.T) {
	team, cost := spec.Tag{Key: spec.TagTeam, Value: "vision"}, spec.Tag{Key: "cost", Value: "low"}
	for _, from := range []string{"TASK_DEFINITION", "SERVICE", "NONE"} {
		p := newPool(t, 1, 4)
		p.create(service.Service{Desired: 2, Settings: service.Settings{PropagateTags: from}, Tags: []spec.Tag{team}}, "good:1")
		put := []spec.Tag{cost, {Key: spec.TagPriority, Value: "100"}, {Key: spec.TagTeam, Value: "speech"}, {Key: spec.TagTimeLimit, Value: "1s"}}
		for n := len(put); n < spec.MaxTags; n++ {
			put = append(put, spec.Tag{Key: fmt.Sprint("tag-", n)})
		}
		p.do(raftfsm.SetTags{Kind: spec.ResourceDefinition, ID: "good:1", Put: put})
		p.run(1)
		for _, task := range p.live() {
			if o := task.SchedulingOptions(); o.Team != "vision" || o.Priority != 0 || o.TimeLimit != 0 || len(task.Tags) > spec.MaxTags {
				t.Errorf("%s: %+v of %v", from, o, task.Tags)
			}
			if slices.Contains(task.Tags, cost) != (from == "TASK_DEFINITION") {
				t.Errorf("%s: %v", from, task.Tags)
			}
		}
	}
}
