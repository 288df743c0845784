package api

import (
	"slices"
	"strings"
	"testing"

	"pinion/raftfsm/spec"
)

const through = `"capacityProviderStrategy":[{"capacityProvider":"PINION"}]`

func TestATaskThatWaitsIsProvisioning(t *testing.T) {
	b := ready(t)
	b.must(t, "RunTask", `{"taskDefinition":"tensorflow-1-gpu",`+through+`,"tags":[{"key":"pinion.priority","value":"7"}]}`).golden(t, "run-task-waiting")
	if got := b.must(t, "DescribeTasks", `{"tasks":["`+firstTask+`"]}`).Body.String(); !strings.Contains(got, `"lastStatus":"PROVISIONING"`) || strings.Contains(got, "containerInstanceArn") {
		t.Errorf("%s", got)
	}
	for body, listed := range map[string]bool{
		`{}`: true, `{"desiredStatus":"RUNNING"}`: true, `{"desiredStatus":"STOPPED"}`: false, `{"desiredStatus":"PENDING"}`: false,
		`{"containerInstance":"` + hostID + `"}`: false, `{"launchType":"EC2"}`: true,
	} {
		if got := b.must(t, "ListTasks", body).Body.String(); strings.Contains(got, firstTask) != listed {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := b.must(t, "DescribeClusters", `{"include":["STATISTICS"]}`).Body.String(); !strings.Contains(got, `"pendingTasksCount":1`) || !strings.Contains(got, `{"name":"pendingEC2TasksCount","value":"1"}`) {
		t.Errorf("%s", got)
	}
	b.must(t, "StopTask", `{"task":"`+firstTask+`","reason":"enough"}`).golden(t, "stop-task-waiting")
}

// Where tasks wait is said by the call, or by the cluster when the call says neither that nor a launch type.
func TestWhereTasksWait(t *testing.T) {
	b := ready(t)
	b.must(t, "CreateCapacityProvider", `{"name":"night"}`)
	b.must(t, "CreateCapacityProvider", `{"name":"asg","autoScalingGroupProvider":{"autoScalingGroupArn":"asg"}}`)
	b.must(t, "CreateCapacityProvider", `{"name":"unused"}`)
	b.must(t, "PutClusterCapacityProviders", puts(`"night","asg"`, `{"capacityProvider":"night","weight":1}`))
	item := func(name, more string) string { return `{"capacityProvider":"` + name + `"` + more + `}` }
	strategy := func(items ...string) string { return `"capacityProviderStrategy":[` + strings.Join(items, ",") + `],` }
	for _, c := range []struct{ name, fields, want string }{
		{"the cluster's own", ``, "night"},
		{"none with a launch type", `"launchType":"EC2",`, ""},
		{"the call's", strategy(item("PINION", "")), "PINION"},
		{"by its ARN", strategy(item(arns+"capacity-provider/night", "")), "night"},
		{"the first with a weight", strategy(item("PINION", ""), item("night", `,"weight":1`)), "night"},
		{"the first with a base", strategy(item("PINION", `,"base":1`), item("night", `,"weight":1`)), "PINION"},
		{"nowhere without managed scaling", strategy(item("asg", "")), ""},
	} {
		var answer struct {
			Tasks []struct {
				Provider string `json:"capacityProviderName"`
			}
		}
		b.must(t, "RunTask", `{`+c.fields+`"taskDefinition":"tensorflow-1-gpu"}`).decode(t, &answer)
		if len(answer.Tasks) != 1 || answer.Tasks[0].Provider != c.want {
			t.Errorf("%s: %+v, want %q", c.name, answer, c.want)
		}
	}
	for wrong, message := range map[string]string{
		strategy(item("unused", ``)):                    notOfCluster,
		strategy(item("night", `,"weight":-1`)):         "capacityProviderStrategy.weight must be between 0 and 1000, not -1.",
		strategy(item("night", ``), item("PINION", ``)): "There are no capacity providers with a weight value greater than zero in the capacity provider strategy. At least one capacity provider must have a weight value greater than zero: specify one and try again.",
	} {
		b.aws("RunTask", `{`+wrong+`"taskDefinition":"tensorflow-1-gpu"}`).wantError(t, 400, invalid, message)
	}
	got := b.aws("PutClusterCapacityProviders", puts(``, ``))
	got.wantError(t, 400, "ResourceInUseException", got.message(t))
	if !strings.HasPrefix(got.message(t), "The specified capacity provider is in use and cannot be removed: ") {
		t.Errorf("%s", got.Body)
	}
}

func TestAFullQueueSaysSo(t *testing.T) {
	b := ready(t)
	b.queueFull = true
	b.aws("RunTask", `{"taskDefinition":"tensorflow-1-gpu",`+through+`}`).wantError(t, 400, clientError,
		"provisioning capacity limit exceeded: at most 200000 tasks can wait in a cluster, try again when some have started")
}

func TestAnArrayIsARunWithNumbers(t *testing.T) {
	b := ready(t)
	if got := b.rest("RunTask", `{"taskDefinition":"tensorflow-1-gpu","array":"5-104",`+through+`}`); got.Code != 200 {
		t.Fatalf("%s", got.Body)
	}
	tasks := b.state.View().Tasks("")
	if len(tasks) != 100 || *tasks[0].ArrayIndex != 5 || *tasks[99].ArrayIndex != 104 {
		t.Errorf("%d tasks", len(tasks))
	}
	b.rest("RunTask", `{"taskDefinition":"tensorflow-1-gpu","array":"0-1000",`+through+`}`).wantError(t, 400, invalid, "count must be between 1 and 1000, not 1001.")
}

const notOfCluster = "The specified capacity provider strategy cannot contain a capacity provider that is not associated with the cluster. Associate the capacity provider with the cluster or specify a valid capacity provider and try again."

// puts is the body of a PutClusterCapacityProviders.
func puts(names, strategy string) string {
	return `{"cluster":"default","capacityProviders":[` + names + `],"defaultCapacityProviderStrategy":[` + strategy + `]}`
}

// Who waits for a host that is not there is told at once, in a way that clients of ECS show too.
func TestARunThatWaitsForAHostSaysSo(t *testing.T) {
	b := ready(t)
	b.infeasible = &spec.Failure{HostID: hostID, Reason: spec.ReasonGPU, Detail: "needs 99 GPUs, the host has 8"}
	got := b.serve(restRequest("RunTask", `{"taskDefinition":"tensorflow-1-gpu","capacityProviderStrategy":[{"capacityProvider":"PINION"}]}`))
	var out struct {
		Tasks []struct{ Attributes []spec.Attribute }
	}
	got.decode(t, &out)
	if len(out.Tasks) != 1 || !strings.Contains(got.Header().Get("X-Pinion-Warning"), b.infeasible.Detail) {
		t.Fatalf("%v %s", got.Header(), got.Body)
	}
	if !slices.ContainsFunc(out.Tasks[0].Attributes, func(a spec.Attribute) bool {
		return a.Name == "pinion.waits-for-host" && strings.Contains(a.Value, b.infeasible.Detail)
	}) {
		t.Errorf("%+v", out.Tasks[0].Attributes)
	}
}
