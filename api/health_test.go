package api

import (
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

// ECS's rule: the essential containers decide, and the worst of them.
func TestTheHealthOfATask(t *testing.T) {
	const yes, no = spec.Healthy, spec.Unhealthy
	for _, c := range []struct {
		name       string
		a, b, side spec.Health
		want       string
	}{
		{"nothing is known", "", "", "", "UNKNOWN"},
		{"all are well", yes, yes, "", "HEALTHY"},
		{"one is not known", yes, "", yes, "UNKNOWN"},
		{"one is ill", "", no, yes, "UNHEALTHY"},
		{"only what is not essential is ill", yes, yes, no, "HEALTHY"},
		{"only what is not essential is well", "", "", yes, "UNKNOWN"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newFixture(t)
			b.must(t, "RegisterTaskDefinition", `{"family":"f","memory":"64","containerDefinitions":[
				{"name":"a","image":"i"},{"name":"b","image":"i"},{"name":"side","image":"i","essential":false}]}`)
			b.run(t, `{"taskDefinition":"f"}`)
			b.mustApply(t, raftfsm.ReportTasks{HostID: hostID, Reports: []spec.TaskReport{{TaskID: firstTask, Status: spec.Running, Containers: []spec.ContainerReport{
				{Name: "a", Health: c.a}, {Name: "b", Health: c.b}, {Name: "side", Health: c.side},
			}}}})
			var answer struct {
				Tasks []struct {
					HealthStatus string
					Containers   []struct{ HealthStatus string }
				}
			}
			b.must(t, "DescribeTasks", `{"tasks":["`+firstTask+`"]}`).decode(t, &answer)
			side := string(c.side)
			if side == "" {
				side = "UNKNOWN"
			}
			if got := answer.Tasks[0]; got.HealthStatus != c.want || got.Containers[2].HealthStatus != side {
				t.Errorf("%+v, want %s", got, c.want)
			}
		})
	}
}
