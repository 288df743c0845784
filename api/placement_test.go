package api

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/query"
	"pinion/raftfsm/spec"
)

// unmet is the scheduler's stand-in for constraints: those of type memberOf, and not for StartTask.
func unmet(view *raftfsm.View, h *spec.Host, d *spec.TaskDefinition, r spec.RunRequest) spec.Failure {
	for _, c := range slices.Concat(d.PlacementConstraints, r.Constraints) {
		if c.Type != spec.MemberOf || len(r.Hosts) > 0 {
			continue
		}
		expression, err := query.Parse(c.Expression)
		if err != nil {
			panic(err) // the operation has checked it
		}
		facts := query.HostFacts{Host: h, Connected: true, Tasks: view.TasksOn(h.ID)}
		if !expression.Match(facts) {
			return spec.Failure{HostID: h.ID, Reason: spec.ReasonConstraint, Detail: expression.Why(facts)}
		}
	}
	return spec.Failure{}
}

// newRackFixture has the host of the bench, which is no p2.xlarge, and one that is.
func newRackFixture(t testing.TB) *fixture {
	b := ready(t)
	p2 := newHost("bbbb0000000000000000000000000002", "gpu-2", 1)
	p2.Attributes["ecs.instance-type"], p2.Attributes["ecs.availability-zone"] = "p2.xlarge", "rack-2"
	b.mustApply(t, raftfsm.PutHost{Host: p2})
	return b
}

const onP2 = `"placementConstraints":[{"type":"memberOf","expression":"attribute:ecs.instance-type == p2.xlarge"}]`

func TestRunTaskRunsOnlyWhereTheConstraintHolds(t *testing.T) {
	b := newRackFixture(t)
	b.must(t, "RunTask", `{"taskDefinition":"tensorflow-1-gpu",`+onP2+`}`).golden(t, "run-task-constrained")
	b.must(t, "RunTask", `{"taskDefinition":"tensorflow-1-gpu",`+onP2+`}`).golden(t, "run-task-unsatisfied")
}

func TestTheConstraintsOfADefinitionCountToo(t *testing.T) {
	b := newRackFixture(t)
	registered := b.must(t, "RegisterTaskDefinition", taskWith(onP2))
	if !strings.Contains(registered.Body.String(), onP2) {
		t.Errorf("the constraints are not shown: %s", registered.Body)
	}
	if host := b.placedOn(t, `{"taskDefinition":"f"}`); host != "bbbb0000000000000000000000000002" {
		t.Errorf("placed on %s", host)
	}
	answer := b.run(t, `{"taskDefinition":"f","placementConstraints":[{"type":"memberOf","expression":"attribute:ecs.instance-type !exists"}]}`)
	if len(answer.Tasks) != 0 || len(answer.Failures) != 2 || answer.Failures[0].Reason != "MemberOf placement constraint unsatisfied." {
		t.Errorf("both cannot hold: %+v", answer)
	}
	b.must(t, "StartTask", `{"taskDefinition":"f","containerInstances":["`+hostID+`"]}`) // which asks no constraint
	if tasks := b.state.View().TasksOn(hostID); len(tasks) != 1 {
		t.Errorf("%d tasks", len(tasks))
	}
}

func (b *fixture) placedOn(t *testing.T, body string) string {
	t.Helper()
	arn := b.run(t, body).Tasks[0].ARN
	return b.state.View().Task(arn[strings.LastIndex(arn, "/")+1:]).HostID
}

// runRecorder records the requests to place tasks.
type runRecorder struct {
	*fakeStore
	request spec.RunRequest
}

func (r *runRecorder) Run(ctx context.Context, request spec.RunRequest) (spec.RunResult, error) {
	r.request = request
	return r.fakeStore.Run(ctx, request)
}

func TestStrategiesReachTheClusterInOneForm(t *testing.T) {
	b := ready(t)
	seen := &runRecorder{fakeStore: b.fakeStore}
	b.config.Store = seen
	b.must(t, "RunTask", `{"taskDefinition":"tensorflow-1-gpu","placementConstraints":[{"type":"distinctInstance"}],"placementStrategy":[
		{"type":"spread","field":"attribute:ecs.availability-zone"},{"type":"spread","field":"host"},{"type":"binpack","field":"MEMORY"},{"type":"binpack","field":"gpu"},{"type":"random","field":"x"}]}`)
	want := []spec.PlacementStrategy{{Type: "spread", Field: "attribute:ecs.availability-zone"}, {Type: "spread", Field: "instanceId"},
		{Type: "binpack", Field: "memory"}, {Type: "binpack", Field: "gpu"}, {Type: "random"}}
	if !slices.Equal(seen.request.Strategy, want) || !slices.Equal(seen.request.Constraints, []spec.PlacementConstraint{{Type: "distinctInstance"}}) {
		t.Errorf("%+v", seen.request)
	}
}

// The rules are tested in api/ecs and api/ecs/taskdef: here one of each kind comes back through both operations.
func TestPlacementIsRefused(t *testing.T) {
	b := ready(t)
	b.must(t, "RegisterTaskDefinition", taskWith(onP2))
	repeat := func(n int, one string) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	for field, messages := range map[string]map[string]string{
		"placementConstraints": {
			`[{"type":"near"}]`:                       `placementConstraints.type must be one of memberOf, distinctInstance, not "near"`,
			repeat(10, `{"type":"distinctInstance"}`): "placementConstraints can have at most 10 items, those of the task definition included, not 11.",
		},
		"placementStrategy": {
			`[{"type":"pack"}]`: `placementStrategy.type must be one of random, spread, binpack, not "pack"`,
		},
	} {
		for value, message := range messages {
			b.aws("RunTask", fmt.Sprintf(`{"taskDefinition":"f",%q:%s}`, field, value)).wantError(t, 400, invalid, message)
		}
	}
	b.aws("RegisterTaskDefinition", taskWith(`"placementConstraints":[{"type":"near"}]`)).wantError(t, 400, "ClientException",
		`placementConstraints.type must be one of memberOf, distinctInstance, not "near"`)
}

func TestListContainerInstancesFilters(t *testing.T) {
	b := newRackFixture(t)
	b.disconnected["bbbb0000000000000000000000000002"] = true
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","group":"db"}`)
	for filter, want := range map[string]string{
		"attribute:ecs.instance-type == p2.xlarge":           "b",
		"attribute:ecs.availability-zone in [rack-1,rack-2]": "ab",
		"agentConnected == false":                            "b",
		"task:group == db":                                   "a",
		"not(task:group == db)":                              "b",
		"runningTasksCount == 0":                             "ab",
		"attribute:pinion.gpu.count > 1":                     "a",
		"attribute:pinion.gpu.model =~ .*H100.*":             "ab",
		"registeredAt == 2026-01-02 and agentVersion >= 1.2": "ab",
		"ec2InstanceId == gpu-2":                             "b",
		"attribute:none exists":                              "",
	} {
		var answer struct{ ContainerInstanceArns []string }
		b.must(t, "ListContainerInstances", fmt.Sprintf(`{"filter":%q}`, filter)).decode(t, &answer)
		got := ""
		for _, arn := range answer.ContainerInstanceArns {
			got += string(arn[strings.LastIndex(arn, "/")+1])
		}
		if got != want {
			t.Errorf("%s: %q, want %q", filter, got, want)
		}
	}
	b.aws("ListContainerInstances", `{"filter":"attribute:x"}`).wantError(t, 400, invalid,
		`Invalid filter: column 12: expected an operator here, not the end: == != > >= < <= exists !exists in !in =~ !~, in "attribute:x".`)
}
