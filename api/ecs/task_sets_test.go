package ecs

import (
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const (
	noTaskSet = "TaskSetNotFoundException"
	external  = `"serviceName":"web","deploymentController":{"type":"EXTERNAL"}`
	setOfWeb  = `{"cluster":"default","service":"web","taskDefinition":"tensorflow-1-gpu"`
)

// shownSet is the part of a task set that tests look at.
type shownSet struct {
	ID, TaskSetARN, Status, TaskDefinition, StabilityStatus, ExternalID string
	ComputedDesiredCount, RunningCount                                  int
	Scale                                                               struct{ Value float64 }
	Tags                                                                []spec.Tag
}

type shownSets struct {
	TaskSet  shownSet
	TaskSets []shownSet
	Failures []struct{ ARN, Reason string }
}

func (f *fixture) set(t testing.TB, operation, body string) shownSet {
	t.Helper()
	var out shownSets
	f.must(t, operation, body).decode(t, &out)
	return out.TaskSet
}

func (f *fixture) sets(t testing.TB, body string) (out shownSets) {
	t.Helper()
	f.must(t, "DescribeTaskSets", body).decode(t, &out)
	return out
}

// external has service web with task sets, of two desired tasks.
func readyForSets(t testing.TB) *fixture {
	f := ready(t)
	f.must(t, "CreateService", `{`+external+`,"desiredCount":2}`)
	return f
}

// The life of task sets, each answer with every byte of it.
func TestTheLifeOfTaskSets(t *testing.T) {
	f := ready(t)
	step := func(name, operation, body string) {
		t.Helper()
		f.must(t, operation, body).stable().golden(t, name)
	}
	step("create-external-service", "CreateService", `{`+external+`,"desiredCount":3,"healthCheckGracePeriodSeconds":5,"propagateTags":"SERVICE"}`)
	step("create-task-set", "CreateTaskSet", setOfWeb+`,"externalId":"blue","scale":{"value":50,"unit":"PERCENT"},"tags":[{"key":"a","value":"b"}],"launchType":"EC2"}`)
	blue := f.sets(t, `{"cluster":"default","service":"web"}`).TaskSets[0].TaskSetARN
	step("update-service-primary-task-set", "UpdateServicePrimaryTaskSet", `{"cluster":"default","service":"web","primaryTaskSet":"`+blue+`"}`)
	step("update-task-set", "UpdateTaskSet", `{"cluster":"default","service":"web","taskSet":"`+blue+`","scale":{"value":33.4}}`)
	step("describe-external-service", "DescribeServices", `{"services":["web"],"include":["TAGS"]}`)
	step("describe-task-sets", "DescribeTaskSets", `{"cluster":"default","service":"web","taskSets":["`+blue+`","ecs-svc/1"],"include":["TAGS"]}`)
	step("delete-task-set", "DeleteTaskSet", `{"cluster":"default","service":"web","taskSet":"`+blue+`","force":true}`)
}

// Only what needs no task set belongs to the service itself.
func TestWhatAnExternalServiceCannotSay(t *testing.T) {
	f := ready(t)
	f.call("CreateService", `{`+external+`,"taskDefinition":"tensorflow-1-gpu"}`).wantError(t, invalid, "TaskDefinition must be blank")
	f.call("CreateService", `{"serviceName":"web","taskDefinition":"tensorflow-1-gpu","desiredCount":1,"deploymentController":{"type":"CODE_DEPLOY"}}`).wantError(t, invalid,
		"deploymentController CODE_DEPLOY is not supported: there is no AWS CodeDeploy here. With ECS, Pinion replaces the tasks of a service itself; with EXTERNAL, you do it with task sets.")
	for _, member := range []string{
		`"launchType":"EC2"`, `"capacityProviderStrategy":[{"capacityProvider":"PINION"}]`, `"loadBalancers":[{"targetGroupArn":"x"}]`, `"platformVersion":"LATEST"`, `"role":"r"`,
		`"schedulingStrategy":"DAEMON"`, `"networkConfiguration":{"awsvpcConfiguration":{}}`, `"serviceConnectConfiguration":{"enabled":true}`, `"desiredCount":-1`,
		`"deploymentConfiguration":{"strategy":"BLUE_GREEN"}`, `"deploymentConfiguration":{"deploymentCircuitBreaker":{"enable":true,"rollback":false}}`, `"schedulingStrategy":"NONE"`,
	} {
		if got := errorType(f.call("CreateService", `{`+external+`,`+member+`}`).err); got != invalid {
			t.Errorf("%s: %q", member, got)
		}
	}
	body := `{` + external + `,"deploymentConfiguration":{"minimumHealthyPercent":50,"maximumPercent":150},"placementStrategy":[{"type":"random"}],"enableECSManagedTags":true}`
	f.must(t, "CreateService", body)
	f.must(t, "CreateService", body) // the retry
	f.call("CreateService", `{`+external+`,"desiredCount":1}`).wantError(t, invalid, "Creation of service was not idempotent.")
	f.call("CreateService", `{`+serving+`,"desiredCount":0}`).wantError(t, invalid, "Creation of service was not idempotent.")
	for _, update := range []string{
		`"taskDefinition":"tensorflow-1-gpu"`, `"forceNewDeployment":true`, `"loadBalancers":[]`, `"capacityProviderStrategy":[]`, `"deploymentConfiguration":{"maximumPercent":200}`,
		`"platformVersion":"LATEST"`, `"serviceConnectConfiguration":{"enabled":false}`, `"availabilityZoneRebalancing":"ENABLED"`,
		`"deploymentController":{"type":"ECS"}`,
	} {
		if got := errorType(f.call("UpdateService", `{"service":"web",`+update+`}`).err); got != invalid {
			t.Errorf("%s: %q", update, got)
		}
	}
	f.must(t, "UpdateService", `{"service":"web","desiredCount":3,"placementConstraints":[],"placementStrategy":[],"healthCheckGracePeriodSeconds":9,"enableECSManagedTags":false,"propagateTags":"NONE",
		"deploymentController":{"type":"EXTERNAL"},"forceNewDeployment":false}`)
	if got := f.web(t); got.DesiredCount != 3 || got.TaskDefinition != "" || len(got.Deployments) > 0 {
		t.Errorf("%+v", got)
	}
}

// A service shows what its PRIMARY task set has; another PRIMARY one changes nothing else.
func TestAServiceShowsItsPrimaryTaskSet(t *testing.T) {
	f := readyForSets(t)
	blue, green := f.set(t, "CreateTaskSet", setOfWeb+`,"scale":{"value":100}}`), f.set(t, "CreateTaskSet", setOfWeb+`}`)
	if blue.ComputedDesiredCount != 2 || green.ComputedDesiredCount != 0 || f.web(t).TaskDefinition != "" {
		t.Fatalf("%+v %+v", blue, green)
	}
	status := func(body string) (all string) {
		for _, set := range f.sets(t, `{"service":"web"}`).TaskSets {
			all += set.Status + " "
		}
		return all
	}
	for _, c := range []struct{ id, want string }{{blue.ID, "ACTIVE PRIMARY "}, {green.TaskSetARN, "PRIMARY ACTIVE "}, {green.ID, "PRIMARY ACTIVE "}} {
		f.set(t, "UpdateServicePrimaryTaskSet", `{"service":"web","primaryTaskSet":"`+c.id+`"}`)
		if got := status(c.id); got != c.want || f.web(t).TaskDefinition != arnPrefix+"task-definition/tensorflow-1-gpu:1" {
			t.Errorf("%s: %s", c.id, got)
		}
	}
	f.call("DeleteTaskSet", `{"service":"web","taskSet":"`+green.ID+`"}`).wantError(t, invalid, "The primary TaskSet cannot be deleted: make another one the primary with UpdateServicePrimaryTaskSet first, or use force.")
	f.call("DeleteTaskSet", `{"service":"web","taskSet":"`+blue.ID+`"}`).wantError(t, invalid, "The TaskSet cannot be deleted while it is scaled above 0: scale it to 0 first, or use force.")
	f.set(t, "UpdateTaskSet", `{"service":"web","taskSet":"`+blue.ID+`","scale":{"value":0}}`)
	if got := f.set(t, "DeleteTaskSet", `{"service":"web","taskSet":"`+blue.ID+`"}`); got.Status != "DRAINING" {
		t.Errorf("%+v", got)
	}
	f.must(t, "DeleteTaskSet", `{"service":"web","taskSet":"`+blue.ID+`"}`) // the retry
	for operation, body := range map[string]string{"UpdateTaskSet": `"scale":{"value":1},"taskSet"`, "UpdateServicePrimaryTaskSet": `"primaryTaskSet"`} {
		f.call(operation, `{"service":"web",`+body+`:"`+blue.ID+`"}`).wantError(t, invalid, "The TaskSet is DRAINING: it was deleted.")
	}
	f.call("DeleteService", `{"service":"web"}`).wantError(t, invalid, "The service cannot be stopped while it is scaled above 0.")
	f.must(t, "UpdateService", `{"service":"web","desiredCount":0}`)
	f.call("DeleteService", `{"service":"web"}`).wantError(t, invalid, "The service cannot be stopped while deployments are active.")
	f.must(t, "DeleteService", `{"service":"web","force":true}`)
	f.call("DescribeTaskSets", `{"service":"web"}`).wantError(t, "ServiceNotActiveException", "Service was not ACTIVE.")
}

// A task set is steady when the reconciler has found it so, and has as many tasks as it is to have by now.
func TestATaskSetIsNoMoreSteadyWhenItIsScaled(t *testing.T) {
	f := readyForSets(t)
	set := f.set(t, "CreateTaskSet", setOfWeb+`}`)
	if set.StabilityStatus != "STABILIZING" {
		t.Errorf("%+v", set)
	}
	s := *f.state.View().Service(spec.DefaultCluster, "web")
	s.Deployments = []service.Deployment{s.Deployments[0]}
	s.Deployments[0].State = service.Completed
	f.mustApply(t, raftfsm.StepService{ServiceID: s.ID, Version: s.Version, Service: s})
	if got := f.sets(t, `{"service":"web"}`).TaskSets[0]; got.StabilityStatus != "STEADY_STATE" {
		t.Errorf("%+v", got)
	}
	if got := f.set(t, "UpdateTaskSet", `{"service":"web","taskSet":"`+set.ID+`","scale":{"value":10}}`); got.StabilityStatus != "STABILIZING" || got.ComputedDesiredCount != 1 {
		t.Errorf("%+v", got)
	}
}

// A client token makes one task set, and a service has five at most.
func TestTaskSetsAreMadeOnceWithAToken(t *testing.T) {
	f := readyForSets(t)
	body := setOfWeb + `,"clientToken":"t","scale":{"value":50}}`
	first := f.set(t, "CreateTaskSet", body)
	if again := f.set(t, "CreateTaskSet", strings.Replace(body, `"default"`, `"`+arnPrefix+`cluster/default"`, 1)); again.ID != first.ID {
		t.Errorf("a retry has made %+v", again)
	}
	f.call("CreateTaskSet", setOfWeb+`,"clientToken":"t"}`).wantError(t, invalid, "Creation of task set was not idempotent.")
	for range service.MaxTaskSets - 1 {
		f.must(t, "CreateTaskSet", setOfWeb+`}`)
	}
	f.call("CreateTaskSet", setOfWeb+`}`).wantError(t, invalid, "5 deployments exist on the service. Unable to create new TaskSet since this exceeds the maximum limit.")
}

func TestWhatATaskSetCannotSay(t *testing.T) {
	f := readyForSets(t)
	f.must(t, "CreateService", `{"serviceName":"rolling","taskDefinition":"tensorflow-1-gpu","desiredCount":0}`)
	for body, want := range map[string]string{
		setOfWeb + `,"scale":{"value":101}}`:                                     invalid,
		setOfWeb + `,"scale":{"value":-1}}`:                                      invalid,
		setOfWeb + `,"scale":{"value":1,"unit":"COUNT"}}`:                        invalid,
		setOfWeb + `,"launchType":"FARGATE"}`:                                    invalid,
		setOfWeb + `,"launchType":"EC2","capacityProviderStrategy":[{}]}`:        invalid,
		setOfWeb + `,"serviceRegistries":[{"registryArn":"r"}]}`:                 "ClientException",
		setOfWeb + `,"networkConfiguration":{"awsvpcConfiguration":{}}}`:         invalid,
		setOfWeb + `,"loadBalancers":[{},{}]}`:                                   invalid,
		setOfWeb + `,"loadBalancers":[{"advancedConfiguration":{}}]}`:            invalid,
		setOfWeb + `,"loadBalancers":[{"targetGroupArn":"x"}]}`:                  invalid,
		setOfWeb + `,"tags":[{"key":"aws:x","value":""}]}`:                       invalid,
		setOfWeb + `,"clientToken":"a b"}`:                                       invalid,
		setOfWeb + `,"externalId":"` + strings.Repeat("x", 257) + `"}`:           invalid,
		`{"service":"web","taskDefinition":"nothing"}`:                           "ClientException",
		`{"service":"rolling","taskDefinition":"tensorflow-1-gpu"}`:              invalid,
		`{"service":"nothing","taskDefinition":"tensorflow-1-gpu"}`:              noService,
		`{"cluster":"no","service":"web","taskDefinition":"tensorflow-1-gpu:1"}`: noCluster,
	} {
		if got := errorType(f.call("CreateTaskSet", body).err); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
	f.call("DescribeTaskSets", `{"service":"rolling"}`).wantError(t, invalid, "Amazon ECS only supports task set management on services configured to use external deployment controllers.")
	f.call("UpdateTaskSet", `{"service":"web","taskSet":"ecs-svc/1","scale":{"value":1}}`).wantError(t, noTaskSet, "TaskSet not found.")
	f.call("DeleteTaskSet", `{"service":"web","taskSet":"`+arnPrefix+`task-set/default/web/ecs-svc/1"}`).wantError(t, noTaskSet, "TaskSet not found.")
	f.call("UpdateServicePrimaryTaskSet", `{"service":"web","primaryTaskSet":"1"}`).wantError(t, noTaskSet, "TaskSet not found.")
	set := f.set(t, "CreateTaskSet", setOfWeb+`}`)
	f.call("UpdateTaskSet", `{"service":"web","taskSet":"`+set.ID+`"}`).wantError(t, invalid, "scale must be given: the percentage of the service's desired count.")
	f.call("StopServiceDeployment", `{"serviceDeploymentArn":"`+arnPrefix+`service-deployment/default/web/x"}`).wantError(t, "ServiceDeploymentNotFoundException", "Service deployment not found.")
}

// A task set has tags of its own. Its tasks have those of the service.
func TestTaskSetsHaveTags(t *testing.T) {
	f := readyForSets(t)
	arn := f.set(t, "CreateTaskSet", setOfWeb+`,"tags":[{"key":"a","value":"b"}]}`).TaskSetARN
	f.must(t, "TagResource", `{"resourceArn":"`+arn+`","tags":[{"key":"c","value":"d"}]}`)
	f.must(t, "UntagResource", `{"resourceArn":"`+arn+`","tagKeys":["a"]}`)
	if got := f.must(t, "ListTagsForResource", `{"resourceArn":"`+arn+`"}`).Body.String(); got != `{"tags":[{"key":"c","value":"d"}]}` {
		t.Error(got)
	}
	if got := f.sets(t, `{"service":"web","include":["TAGS"]}`).TaskSets[0].Tags; len(got) != 1 || len(f.sets(t, `{"service":"web"}`).TaskSets[0].Tags) != 0 {
		t.Errorf("%+v", got)
	}
	f.call("TagResource", `{"resourceArn":"`+arn+`0","tags":[{"key":"c","value":"d"}]}`).wantError(t, resourceNotFound, "The specified task set was not found.")
}

// A key may do with task sets what it may do with the service that they are of.
func TestTaskSetsHaveTheRightsOfTheirService(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+external+`,"desiredCount":2,"tags":[{"key":"pinion.team","value":"speech"}]}`)
	set := f.set(t, "CreateTaskSet", setOfWeb+`}`)
	body := `{"service":"web","taskDefinition":"tensorflow-1-gpu","taskSet":"` + set.ID + `","primaryTaskSet":"` + set.ID + `","scale":{"value":1}}`
	for _, operation := range []string{"CreateTaskSet", "UpdateTaskSet", "DeleteTaskSet", "DescribeTaskSets", "UpdateServicePrimaryTaskSet"} {
		if got := errorType(f.asKey(accesskey.RoleSubmit, accesskey.Grant{Teams: []string{"vision"}}, "", operation, body).err); got != noService {
			t.Errorf("%s of another team: %q", operation, got)
		}
		if got := errorType(f.asKey(accesskey.RoleSubmit, accesskey.Grant{}, "lab", operation, body).err); got != "AccessDeniedException" {
			t.Errorf("%s of another cluster: %q", operation, got)
		}
	}
	limited := accesskey.Grant{MaxTasks: 1}
	for _, c := range []struct{ operation, body, want string }{
		{"CreateTaskSet", setOfWeb + `}`, "AccessDeniedException"},
		{"UpdateTaskSet", `{"service":"web","taskSet":"` + set.ID + `","scale":{"value":1}}`, "AccessDeniedException"},
		{"UpdateTaskSet", `{"service":"web","taskSet":"` + set.ID + `","scale":{"value":0}}`, ""},
	} {
		if got := errorType(f.asKey(accesskey.RoleSubmit, limited, "", c.operation, c.body).err); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.operation, c.body, got, c.want)
		}
	}
}
