package api

import (
	"net/http"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

const invalid = "InvalidParameterException"

// ready has the definition of document 1 with one GPU.
func ready(t testing.TB) *fixture {
	b := newFixture(t)
	b.must(t, "RegisterTaskDefinition", oneGPU)
	return b
}

type runOutput struct {
	Tasks []struct {
		ARN        string `json:"taskArn"`
		Group      string `json:"group"`
		LaunchType string `json:"launchType"`
		Containers []struct {
			GPUs []string `json:"gpuIds"`
		} `json:"containers"`
		Tags []spec.Tag `json:"tags"`
	} `json:"tasks"`
	Failures []struct{ ARN, Reason string } `json:"failures"`
}

func (b *fixture) run(t testing.TB, body string) runOutput {
	t.Helper()
	var answer runOutput
	b.must(t, "RunTask", body).decode(t, &answer)
	return answer
}

func TestRunTaskPinsGPUsUntilThereAreNoneLeft(t *testing.T) {
	b := ready(t)
	held := map[string]bool{}
	for range 2 {
		answer := b.run(t, `{"taskDefinition":"tensorflow-1-gpu","overrides":{"containerOverrides":[{"name":"tensorflow-gpu","resourceRequirements":[{"type":"GPU","value":"2"}]}],"memory":"1GB"}}`)
		for _, id := range answer.Tasks[0].Containers[0].GPUs {
			held[id] = true
		}
	}
	if len(held) != 4 {
		t.Errorf("GPUs held: %v", held)
	}
	answer := b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	if len(answer.Tasks) != 0 || len(answer.Failures) != 1 || answer.Failures[0].Reason != "RESOURCE:GPU" || !strings.HasSuffix(answer.Failures[0].ARN, "container-instance/default/"+hostID) {
		t.Errorf("%+v", answer)
	}
}

func TestRunTaskPlacesWhatFitsAndNamesTheRest(t *testing.T) {
	answer := ready(t).run(t, `{"taskDefinition":"tensorflow-1-gpu","count":3}`) // memory is for two
	if len(answer.Tasks) != 2 || len(answer.Failures) != 1 || answer.Failures[0].Reason != "RESOURCE:MEMORY" {
		t.Errorf("%+v", answer)
	}
}

func TestRunTaskRefuses(t *testing.T) {
	const run = `{"taskDefinition":"tensorflow-1-gpu",`
	override := func(fields string) string { return run + `"overrides":{"containerOverrides":[{` + fields + `}]}}` }
	for _, c := range []struct{ name, body, kind, message string }{
		{"no definition", `{}`, "ClientException", "TaskDefinition should not be null or empty."},
		{"an unknown definition", `{"taskDefinition":"nope"}`, "ClientException", "TaskDefinition not found."},
		{"an unknown cluster", run + `"cluster":"nope"}`, "ClusterNotFoundException", "Cluster not found."},
		{"no tasks", run + `"count":0}`, invalid, "count must be between 1 and 10, not 0."},
		{"too many tasks", run + `"count":11}`, invalid, "count must be between 1 and 10, not 11."},
		{"Fargate", run + `"launchType":"FARGATE"}`, invalid, "launchType FARGATE is not supported: Pinion runs tasks on your own hosts, which is EC2 or EXTERNAL."},
		{"who started it, over two lines", run + `"startedBy":"a\nb"}`, invalid, `startedBy must not contain control characters, as "a\nb" does.`},
		{"a reference that moves the cursor", run + `"referenceId":"\u001b[2J"}`, invalid, `referenceId must not contain control characters, as "\x1b[2J" does.`},
		{"a group that moves the cursor", run + `"group":"\u001b[2J"}`, invalid, `group must not contain control characters, as "\x1b[2J" does.`},
		{"awsvpc", run + `"networkConfiguration":{"awsvpcConfiguration":{"subnets":["s"]}}}`, invalid, "Network Configuration is not valid for the given networkMode of this task definition."},
		{"an override of nobody", override(`"name":"x"`), invalid, "Override for container named x is not a container in the TaskDefinition."},
		{"overrides that are too long", override(`"name":"tensorflow-gpu","command":["` + strings.Repeat("x", 8192) + `"]`), invalid, "Container Overrides length must be at most 8192"},
		{"an override to 0 GPUs", override(`"name":"tensorflow-gpu","resourceRequirements":[{"type":"GPU","value":"0"}]`), invalid, `Container 'tensorflow-gpu': resourceRequirements[0].value must be "ALL", or a string that holds a whole number from 1, such as "1" (at most 1024): not "0".`},
		{"an override above the task", override(`"name":"tensorflow-gpu","memory":7000`), invalid, "Invalid 'memory' setting for task: the containers ask for 7000 MiB, the task has 6144."},
		{"a variable without a name", override(`"name":"tensorflow-gpu","environment":[{"value":"x"}]`), invalid, `Override for container tensorflow-gpu: "" is not the name of an environment variable.`},
		{"a group of services", run + `"group":"service:x"}`, invalid, "Invalid namespace for group: service: is reserved for services."},
		{"tags of a service", run + `"propagateTags":"SERVICE"}`, invalid, "propagateTags SERVICE is not valid here: the task belongs to no service."},
		{"a token with a blank", run + `"clientToken":"a b"}`, invalid, "clientToken must hold only printable ASCII without blanks."},
		{"a time to be lost after that is none", run + `"tags":[{"key":"pinion.lost-after","value":"soon"}]}`, invalid, `the tag pinion.lost-after is "soon": write a span of time of 5s or more, such as "10m" or "1h30m", or "never".`},
		{"a capacity provider of no cluster", run + `"capacityProviderStrategy":[{"capacityProvider":"FARGATE","weight":1}]}`, invalid, "The specified capacity provider strategy cannot contain a capacity provider that is not associated with the cluster. Associate the capacity provider with the cluster or specify a valid capacity provider and try again."},
		{"a priority that is none", run + `"tags":[{"key":"pinion.priority","value":"101"}]}`, invalid, `the tag pinion.priority is "101": write a whole number from 0 to 100.`},
		{"a task to wait for without a queue", run + `"tags":[{"key":"pinion.after","value":"group:data"}]}`, invalid, "The tag pinion.after has tasks wait for others, and that takes a queue: give capacityProviderStrategy, such as [{capacityProvider: PINION}]."},
		{"an array without a queue", run + `"array":"0-3"}`, invalid, "array is for tasks that may wait, and that takes a queue: give capacityProviderStrategy, such as [{capacityProvider: PINION}]."},
		{"an array and a count", run + `"array":"0-3","count":4}`, invalid, "count and array both say how many tasks there are: give one of them."},
		{"an array the wrong way round", run + `"array":"3-0"}`, invalid, `array "3-0" ends before it begins.`},
		{"an array that is none", run + `"array":"4"}`, invalid, `array must be the first and the last index, such as "0-99", not "4".`},
		{"too large an array", run + `"array":"0-10"}`, invalid, "count must be between 1 and 10, not 11."},
		{"a capacity provider and a launch type", run + `"launchType":"EC2","capacityProviderStrategy":[{"capacityProvider":"x"}]}`, invalid, "Specifying both a launch type and capacity provider strategy is not supported. Remove one and try again."},
		{"a launch type that is none", run + `"launchType":"MOON"}`, invalid, `launchType must be one of EC2, FARGATE, EXTERNAL, MANAGED_INSTANCES, not "MOON"`},
		{"a long reference", run + `"referenceId":"` + strings.Repeat("x", 1025) + `"}`, invalid, "referenceId must be at most 1024 characters long, not 1025."},
		{"an ARN of another account", `{"taskDefinition":"arn:aws:ecs:us-east-1:999999999999:task-definition/tensorflow-1-gpu"}`, invalid, "Invalid identifier: arn:aws:ecs:us-east-1:999999999999:task-definition/tensorflow-1-gpu belongs to account 999999999999, here is account 123456789012"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := ready(t)
			b.aws("RunTask", c.body).wantError(t, 400, c.kind, c.message)
			if left := b.state.View().Tasks(""); len(left) != 0 {
				t.Errorf("%d tasks were recorded", len(left))
			}
		})
	}
}

func TestTheLaunchTypeIsOneThatTheDefinitionIsFor(t *testing.T) {
	b := newFixture(t)
	b.must(t, "RegisterTaskDefinition", taskWith(`"requiresCompatibilities":["EXTERNAL"]`))
	if answer := b.run(t, `{"taskDefinition":"f"}`); answer.Tasks[0].LaunchType != "EXTERNAL" {
		t.Errorf("%+v", answer)
	}
	b.aws("RunTask", `{"taskDefinition":"f","launchType":"EC2"}`).wantError(t, 400, invalid, "Task definition does not support launch_type EC2.")
}

func TestRunTaskInAnEmptyClusterIsAnException(t *testing.T) {
	b := ready(t)
	b.must(t, "CreateCluster", `{"clusterName":"empty"}`)
	b.aws("RunTask", `{"cluster":"empty","taskDefinition":"tensorflow-1-gpu"}`).wantError(t, 400, invalid, "No Container Instances were found in your cluster.")
}

func TestRunTaskOfAnInactiveDefinition(t *testing.T) {
	b := ready(t)
	b.must(t, "DeregisterTaskDefinition", `{"taskDefinition":"tensorflow-1-gpu:1"}`)
	b.aws("RunTask", `{"taskDefinition":"tensorflow-1-gpu:1"}`).wantError(t, 400, invalid, "TaskDefinition is inactive")
	b.aws("RunTask", `{"taskDefinition":"tensorflow-1-gpu"}`).wantError(t, 400, "ClientException", "TaskDefinition not found.")
}

func TestAClientTokenRunsOnce(t *testing.T) {
	b := ready(t)
	first := b.run(t, `{"taskDefinition":"tensorflow-1-gpu","clientToken":"T","group":"g","startedBy":"me"}`)
	again := b.run(t, `{"startedBy":"me","group":"g","cluster":"default","clientToken":"T","taskDefinition":"tensorflow-1-gpu"}`)
	if first.Tasks[0].ARN != again.Tasks[0].ARN || len(b.state.View().Tasks("")) != 1 {
		t.Errorf("%+v and %+v", first, again)
	}
	b.must(t, "DeregisterTaskDefinition", `{"taskDefinition":"tensorflow-1-gpu:1"}`)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","clientToken":"T","group":"g","startedBy":"me"}`) // still the first answer

	conflict := b.aws("RunTask", `{"taskDefinition":"tensorflow-1-gpu","clientToken":"T","group":"other"}`)
	conflict.wantError(t, 400, "ConflictException", "The clientToken was used before with other parameters. resourceIds are the tasks that it started.")
	var body struct{ ResourceIDs []string }
	conflict.decode(t, &body)
	if len(body.ResourceIDs) != 1 || body.ResourceIDs[0] != first.Tasks[0].ARN {
		t.Errorf("resourceIds %v", body.ResourceIDs)
	}
}

func TestRunTaskTakesTagsFromTheDefinitionWhenAsked(t *testing.T) {
	b := newFixture(t)
	b.must(t, "RegisterTaskDefinition", taskWith(`"tags":[{"key":"a","value":"definition"},{"key":"b","value":"definition"}]`))
	answer := b.run(t, `{"taskDefinition":"f","launchType":"EXTERNAL","propagateTags":"TASK_DEFINITION","tags":[{"key":"a","value":"call"}]}`)
	want := []spec.Tag{{Key: "a", Value: "call"}, {Key: "b", Value: "definition"}}
	if got := answer.Tasks[0]; len(got.Tags) != 2 || got.Tags[0] != want[0] || got.Tags[1] != want[1] || got.LaunchType != "EXTERNAL" || got.Group != "family:f" {
		t.Errorf("%+v", got)
	}
}

func TestTheRESTFormRunsMoreThanTenAtOnce(t *testing.T) {
	b := newFixture(t)
	b.must(t, "RegisterTaskDefinition", taskWith(`"cpu":"1"`))
	var answer runOutput
	got := b.rest("RunTask", `{"taskDefinition":"f","count":20}`)
	got.decode(t, &answer)
	if got.Code != http.StatusOK || len(answer.Tasks) != 20 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestStartTaskGoesToTheNamedHosts(t *testing.T) {
	b := ready(t)
	b.mustApply(t, raftfsm.PutHost{Host: newHost("bbbb0000000000000000000000000002", "gpu-2", 1)})
	var answer runOutput
	b.must(t, "StartTask", `{"taskDefinition":"tensorflow-1-gpu","containerInstances":["arn:aws:ecs:us-east-1:123456789012:container-instance/default/bbbb0000000000000000000000000002","arn:aws:ecs:us-east-1:123456789012:container-instance/cccc"]}`).decode(t, &answer)
	if len(answer.Tasks) != 1 || answer.Tasks[0].Containers[0].GPUs[0] != "GPU-gpu-2-0" || len(answer.Failures) != 1 || answer.Failures[0].Reason != "MISSING" {
		t.Errorf("%+v", answer)
	}
	b.aws("StartTask", `{"taskDefinition":"tensorflow-1-gpu"}`).wantError(t, 400, "ClientException", "Container Instances cannot be empty.")
	b.aws("StartTask", `{"taskDefinition":"tensorflow-1-gpu","containerInstances":["1","2","3","4","5","6","7","8","9","10","11"]}`).wantError(t, 400, invalid, "containerInstances can have at most 10 items, not 11.")
}

func TestATaskIsFoundByEveryNameItHas(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	const arn = "arn:aws:ecs:us-east-1:123456789012:"
	for _, name := range []string{firstTask, arn + "task/default/" + firstTask, arn + "task/" + firstTask, "arn:aws:ecs:us-east-2:123456789012:task/default/" + firstTask} {
		var answer runOutput
		b.must(t, "DescribeTasks", `{"cluster":"`+arn+`cluster/default","tasks":["`+name+`"]}`).decode(t, &answer)
		if len(answer.Tasks) != 1 {
			t.Errorf("%s: %+v", name, answer)
		}
	}
	b.aws("DescribeTasks", `{"tasks":["`+arn+`task/other/`+firstTask+`"]}`).wantError(t, 400, invalid, "Invalid identifier: Identifier is for cluster other. Your cluster is default")
	b.aws("DescribeTasks", `{"tasks":["`+arn+`service/default/x"]}`).wantError(t, 400, invalid, "Invalid identifier: "+arn+"service/default/x is not the ARN of a task")
	b.aws("DescribeTasks", `{}`).wantError(t, 400, invalid, "Tasks cannot be empty.")
	b.aws("DescribeTasks", `{"tasks":[`+strings.Repeat(`"a",`, 100)+`"a"]}`).wantError(t, 400, invalid, "taskIds can have at most 100 items.")
}

func TestStopTask(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	b.aws("StopTask", `{"task":"nope"}`).wantError(t, 400, invalid, "The referenced task was not found.")
	b.aws("StopTask", `{}`).wantError(t, 400, invalid, "The referenced task was not found.")
	b.aws("StopTask", `{"task":"`+firstTask+`","reason":"`+strings.Repeat("x", 1025)+`"}`).wantError(t, 400, invalid, "reason must be at most 1024 characters long, not 1025.")
	b.must(t, "StopTask", `{"task":"`+firstTask+`"}`)
	b.reportExited(t, firstTask, 137)
	b.must(t, "StopTask", `{"task":"`+firstTask+`"}`) // stopping what has stopped changes nothing
}

func TestListTasksFilters(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu","startedBy":"me"}`)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	b.reportExited(t, firstTask, 0)
	for body, want := range map[string]int{
		`{}`: 1, `{"desiredStatus":"STOPPED"}`: 1, `{"desiredStatus":"PENDING"}`: 0, `{"family":"tensorflow-1-gpu"}`: 1, `{"family":"tensorflow"}`: 0,
		`{"startedBy":"me"}`: 0, `{"startedBy":"me","desiredStatus":"STOPPED"}`: 1, `{"launchType":"EC2"}`: 1, `{"launchType":"FARGATE"}`: 0,
		`{"containerInstance":"` + hostID + `"}`: 1,
	} {
		var answer struct {
			ARNs []string `json:"taskArns"`
		}
		b.must(t, "ListTasks", body).decode(t, &answer)
		if len(answer.ARNs) != want {
			t.Errorf("%s: %v", body, answer.ARNs)
		}
	}
	b.aws("ListTasks", `{"startedBy":"me","family":"f"}`).wantError(t, 400, invalid, "startedBy must be the only filter: remove family, containerInstance and launchType.")
	b.aws("ListTasks", `{"serviceName":"s"}`).wantError(t, 400, "ServiceNotFoundException", "Service not found.")
	b.aws("ListTasks", `{"containerInstance":"x"}`).wantError(t, 400, invalid, "The referenced container instance was not found.")
}

// Another page goes on after the last name that was seen, whatever came in between.
func TestPagingSurvivesChanges(t *testing.T) {
	b := newFixture(t)
	for _, name := range []string{"b", "c", "d"} {
		b.must(t, "CreateCluster", `{"clusterName":"`+name+`"}`)
	}
	var page struct {
		ARNs  []string `json:"clusterArns"`
		Token string   `json:"nextToken"`
	}
	b.must(t, "ListClusters", `{"maxResults":2}`).decode(t, &page)
	b.must(t, "CreateCluster", `{"clusterName":"a"}`)
	b.must(t, "ListClusters", `{"nextToken":"`+page.Token+`"}`).decode(t, &page)
	if len(page.ARNs) != 2 || !strings.HasSuffix(page.ARNs[0], "/d") || !strings.HasSuffix(page.ARNs[1], "/default") {
		t.Errorf("%v", page.ARNs)
	}
}

func TestClustersThatCannotBe(t *testing.T) {
	b := newFixture(t)
	b.aws("CreateCluster", `{"clusterName":"a b"}`).wantError(t, 400, invalid, `clusterName must be 1 to 255 letters, digits, hyphens and underscores, not "a b"`)
	b.aws("CreateCluster", `{"settings":[{"value":"x"}]}`).wantError(t, 400, invalid, "settings.name must not be empty")
	b.aws("CreateCluster", `{"capacityProviders":["FARGATE"]}`).wantError(t, 400, invalid, "The capacity provider FARGATE is not supported: Pinion runs tasks on your own hosts.")
	b.aws("DescribeClusters", `{"include":["EVERYTHING"]}`).wantError(t, 400, invalid, `include must hold only ATTACHMENTS, CONFIGURATIONS, SETTINGS, STATISTICS, TAGS, not "EVERYTHING"`)
	b.must(t, "CreateCluster", `{"clusterName":"twice"}`)
	b.must(t, "CreateCluster", `{"clusterName":"twice"}`)
}

func TestASickGPUShowsInTheHealthOfItsHost(t *testing.T) {
	b := newFixture(t)
	host := newHost(hostID, "gpu-1", 2)
	host.GPUs.Devices[1].Health, host.GPUs.Devices[1].Problem = "UNHEALTHY", "Xid 79"
	b.mustApply(t, raftfsm.PutHost{Host: host})
	b.disconnected[hostID] = true
	b.must(t, "DescribeContainerInstances", `{"containerInstances":["`+hostID+`"],"include":["CONTAINER_INSTANCE_HEALTH"]}`).golden(t, "instance-with-sick-gpu")
	b.aws("DescribeContainerInstances", `{}`).wantError(t, 400, "ClientException", "Container Instances cannot be empty.")
}

// Ids are exact, as on ECS, and whoever has shortened one learns so.
func TestTheBeginningOfAnIDIsNoID(t *testing.T) {
	b := ready(t)
	b.run(t, `{"taskDefinition":"tensorflow-1-gpu"}`)
	for id, detail := range map[string]bool{firstTask[:8]: true, strings.Repeat("0", len(firstTask)): false} {
		var out struct {
			Tasks    []struct{}
			Failures []struct{ Reason, Detail string }
		}
		b.must(t, "DescribeTasks", `{"tasks":["`+id+`"]}`).decode(t, &out)
		if len(out.Tasks) != 0 || len(out.Failures) != 1 || out.Failures[0].Reason != "MISSING" || (out.Failures[0].Detail != "") != detail {
			t.Errorf("%s: %+v", id, out)
		}
	}
}
