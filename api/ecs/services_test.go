package ecs

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const (
	noService = "ServiceNotFoundException"
	serving   = `"serviceName":"web","taskDefinition":"tensorflow-1-gpu"`
)

// drawnIDs are the parts of an answer that are new each time.
var drawnIDs = regexp.MustCompile(`(ecs-svc/|service-revision/default/web/|service-deployment/default/web/|daemon-revision/default/agent/|daemon-deployment/default/agent/)[0-9A-Z]+`)

// stable is a reply with x for what is new each time.
func (r reply) stable() reply {
	return reply{Body: bytes.NewBuffer(drawnIDs.ReplaceAll(r.Body.Bytes(), []byte("${1}x")))}
}

// described is the part of a service that tests look at.
type described struct {
	Service  shownService
	Services []shownService
}

type shownService struct {
	AvailabilityZoneRebalancing string
	ServiceARN                  string
	Status                      string
	TaskDefinition              string
	DesiredCount                int
	RunningCount                int
	PendingCount                int
	CurrentServiceDeployment    string
	Deployments                 []struct {
		ID, Status, TaskDefinition              string
		DesiredCount, RunningCount, FailedTasks int
	}
}

// web is the service web as DescribeServices shows it.
func (f *fixture) web(t testing.TB) shownService {
	t.Helper()
	var out described
	f.must(t, "DescribeServices", `{"services":["web"]}`).decode(t, &out)
	if len(out.Services) != 1 {
		t.Fatal("there is no service web")
	}
	return out.Services[0]
}

// addTask adds a task to the service web, as its reconciler does, and returns its id.
func (f *fixture) addTask(t testing.TB, id string) string {
	t.Helper()
	s := f.state.View().Service(spec.DefaultCluster, "web")
	task := &spec.Task{
		ID: fmt.Sprintf("%032s", id), Cluster: s.Cluster, Definition: s.Primary().Definition, Group: s.Group(), StartedBy: service.DeploymentName(s.Primary().ID),
		LaunchType: "EC2", HostID: hostID, LastStatus: spec.Pending, DesiredStatus: spec.Running, Tags: s.Tags, Version: 1, CreatedAt: epoch,
		Containers: []spec.Container{{ID: "c", Name: "tensorflow-gpu", LastStatus: spec.Pending}},
		Service:    &spec.ServiceMember{ID: s.ID, Deployment: s.Primary().ID},
	}
	answer, err := f.Propose(t.Context(), raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: s.Cluster, At: epoch, Tasks: []*spec.Task{task}}}})
	if err != nil || answer.([]raftfsm.LaunchResult)[0].Err != nil {
		t.Fatal(answer, err)
	}
	return task.ID
}

// The life of a service, each answer with every byte of it.
func TestTheLifeOfAService(t *testing.T) {
	f := ready(t)
	step := func(name, operation, body string) {
		t.Helper()
		f.must(t, operation, body).stable().golden(t, name)
	}
	step("create-service", "CreateService", `{`+serving+`,"desiredCount":2,"propagateTags":"SERVICE","enableECSManagedTags":true,"healthCheckGracePeriodSeconds":60,
		"placementStrategy":[{"type":"spread","field":"instanceId"}],"placementConstraints":[{"type":"distinctInstance"}],"tags":[{"key":"pinion.rollout","value":"wait"}],
		"deploymentConfiguration":{"maximumPercent":150,"minimumHealthyPercent":50,"deploymentCircuitBreaker":{"enable":true,"rollback":true,"thresholdConfiguration":{"type":"COUNT","value":5}}}}`)
	f.reportRunning(t, f.addTask(t, "1"))
	f.addTask(t, "2")
	step("describe-services", "DescribeServices", `{"services":["web","nothing"],"include":["TAGS"]}`)
	step("list-services", "ListServices", `{"launchType":"EC2","schedulingStrategy":"REPLICA"}`)
	step("describe-clusters-service", "DescribeClusters", `{"include":["STATISTICS"]}`)
	step("describe-service-task", "DescribeTasks", `{"tasks":["`+strings.Repeat("0", 31)+`1"]}`)
	f.must(t, "RegisterTaskDefinition", oneGPU)
	step("update-service", "UpdateService", `{"service":"`+arnPrefix+`service/default/web","taskDefinition":"tensorflow-1-gpu","desiredCount":0}`)
	step("delete-service", "DeleteService", `{"service":"web"}`)
	if list := f.must(t, "ListServices", `{}`).Body.String(); list != `{"serviceArns":[]}` {
		t.Errorf("a service that is deleted is listed: %s", list)
	}
	f.call("CreateService", `{`+serving+`,"desiredCount":2}`).wantError(t, invalid, "Unable to Start a service that is still Draining.")
	f.call("UpdateService", `{"service":"web","desiredCount":1}`).wantError(t, "ServiceNotActiveException", "Service was not ACTIVE.")
	f.must(t, "DeleteService", `{"service":"web"}`) // the retry of a client that did not hear the answer
}

// A retry is answered with the service; what differs from it is no retry.
func TestTheSameServiceIsCreatedOnce(t *testing.T) {
	f := ready(t)
	body := `{` + serving + `,"desiredCount":2,"placementStrategy":[],"tags":[{"key":"a","value":"b"}]}`
	f.must(t, "CreateService", body)
	first := f.web(t)
	f.must(t, "CreateService", body)
	if again := f.web(t); again.CurrentServiceDeployment != first.CurrentServiceDeployment {
		t.Error("the retry has started a deployment")
	}
	for _, other := range []string{`"desiredCount":3`, `"desiredCount":2,"schedulingStrategy":"REPLICA"`, `"desiredCount":2,"tags":[{"key":"a","value":"b"}],"propagateTags":"SERVICE"`} {
		f.call("CreateService", `{`+serving+`,`+other+`}`).wantError(t, invalid, "Creation of service was not idempotent.")
	}
}

// What is run is what another definition, or force, says; all else changes how it is run.
func TestWhatStartsADeployment(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":2}`)
	for _, c := range []struct {
		update string
		starts bool
	}{
		{`"desiredCount":3`, false}, {`"taskDefinition":"tensorflow-1-gpu:1"`, false}, {`"deploymentConfiguration":{"maximumPercent":150}`, false},
		{`"availabilityZoneRebalancing":"DISABLED","placementStrategy":[{"type":"random"}],"enableExecuteCommand":false,"enableECSManagedTags":true,"propagateTags":"TASK_DEFINITION"`, false},
		{`"capacityProviderStrategy":[],"availabilityZoneRebalancing":"ENABLED","placementStrategy":[],"healthCheckGracePeriodSeconds":5,"platformVersion":"LATEST"`, false},
		{`"forceNewDeployment":true`, true}, {`"taskDefinition":"tensorflow-1-gpu:1","forceNewDeployment":true`, true},
	} {
		before := f.web(t).CurrentServiceDeployment
		f.must(t, "UpdateService", `{"service":"web",`+c.update+`}`)
		if started := f.web(t).CurrentServiceDeployment != before; started != c.starts {
			t.Errorf("%s starts a deployment: %t", c.update, started)
		}
	}
	f.must(t, "RegisterTaskDefinition", oneGPU)
	f.must(t, "UpdateService", `{"service":"web","taskDefinition":"tensorflow-1-gpu"}`)
	if got := f.web(t); got.TaskDefinition != arnPrefix+"task-definition/tensorflow-1-gpu:2" || got.DesiredCount != 3 {
		t.Errorf("%+v", got)
	}
}

// A new service whose tasks can be moved between availability zones is one that does, as on ECS; a stated value stays as it is, and what ECS does not
// rebalance is refused.
func TestWhichServicesAreRebalanced(t *testing.T) {
	const spread = `"placementStrategy":[{"type":"spread","field":"attribute:ecs.availability-zone"},{"type":"binpack","field":"memory"}]`
	unlike := map[string]string{
		`"desiredCount":1,"placementStrategy":[{"type":"spread","field":"instanceId"}]`:                "a first placement strategy",
		`"desiredCount":1,"deploymentConfiguration":{"maximumPercent":100,"minimumHealthyPercent":50}`: "maximumPercent <= 100 %",
		`"schedulingStrategy":"DAEMON"`: "DAEMON services",
		`"desiredCount":1,"placementConstraints":[{"type":"memberOf","expression":"attribute:ecs.availability-zone == rack-1"}]`:                 "placement constraints",
		`"desiredCount":1,"placementStrategy":[{"type":"binpack","field":"memory"},{"type":"spread","field":"attribute:ecs.availability-zone"}]`: "a first placement strategy",
	}
	for settings, want := range map[string]string{`"desiredCount":1`: "ENABLED", `"desiredCount":1,` + spread: "ENABLED", `"desiredCount":1,"availabilityZoneRebalancing":"DISABLED"`: "DISABLED"} {
		f := ready(t)
		f.must(t, "CreateService", `{`+serving+`,`+settings+`}`)
		if got := f.web(t).AvailabilityZoneRebalancing; got != want {
			t.Errorf("%s: %s", settings, got)
		}
		if f.must(t, "CreateService", `{`+serving+`,`+settings+`}`); want == "DISABLED" {
			continue
		}
		if got := f.call("UpdateService", `{"service":"web","placementStrategy":[{"type":"random"}]}`); !strings.Contains(fmt.Sprint(got.err), "first placement strategy") {
			t.Errorf("%s, and then placed at random: %v", settings, got.err)
		}
		f.must(t, "UpdateService", `{"service":"web","availabilityZoneRebalancing":"DISABLED","placementStrategy":[{"type":"random"}]}`)
		if got := f.web(t).AvailabilityZoneRebalancing; got != "DISABLED" {
			t.Errorf("%s, and DISABLED: %s", settings, got)
		}
	}
	for settings, says := range unlike {
		f := ready(t)
		if got := f.call("CreateService", `{`+serving+`,"availabilityZoneRebalancing":"ENABLED",`+settings+`}`); !strings.Contains(fmt.Sprint(got.err), "Rebalancing does not support "+says) {
			t.Errorf("%s: %v", settings, got.err)
		}
		f.must(t, "CreateService", `{`+serving+`,`+settings+`}`)
		if got := f.web(t).AvailabilityZoneRebalancing; got != "DISABLED" {
			t.Errorf("%s: %s", settings, got)
		}
	}
}

// Terraform deregisters the definition that a service has before it updates the service.
func TestAServiceStaysOnAnInactiveDefinition(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":2}`)
	f.must(t, "DeregisterTaskDefinition", `{"taskDefinition":"tensorflow-1-gpu:1"}`)
	f.must(t, "UpdateService", `{"service":"web","desiredCount":1}`)
	f.call("UpdateService", `{"service":"web","forceNewDeployment":true}`).wantError(t, invalid, "TaskDefinition is inactive")
	f.call("CreateService", `{"serviceName":"other","taskDefinition":"tensorflow-1-gpu:1","desiredCount":1}`).wantError(t, invalid, "TaskDefinition is inactive")
}

func TestAServiceIsDeletedWhenItIsScaledToNothing(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":2}`)
	f.call("DeleteService", `{"service":"web"}`).wantError(t, invalid, "The service cannot be stopped while it is scaled above 0.")
	f.must(t, "DeleteService", `{"service":"web","force":true}`)
	if got := f.web(t); got.Status != "INACTIVE" || len(got.Deployments) > 0 {
		t.Errorf("without tasks: %+v", got)
	}
	f.call("DeleteService", `{"service":"web"}`).wantError(t, noService, "Service not found.")
	f.must(t, "CreateService", `{`+serving+`,"schedulingStrategy":"DAEMON"}`)
	f.must(t, "DeleteService", `{"service":"web"}`)
}

// A service of a strategy of capacity providers has no launch type; none given is the cluster's default.
func TestAServiceHasALaunchTypeOrCapacityProviders(t *testing.T) {
	f := ready(t)
	f.must(t, "PutClusterCapacityProviders", `{"cluster":"default","capacityProviders":["PINION"],"defaultCapacityProviderStrategy":[{"capacityProvider":"PINION","weight":1}]}`)
	for body, want := range map[string]string{
		`"serviceName":"a"`:                    `"capacityProviderStrategy":[{"capacityProvider":"PINION"`,
		`"serviceName":"b","launchType":"EC2"`: `"launchType":"EC2","capacityProviderStrategy":[]`,
		`"serviceName":"c","capacityProviderStrategy":[{"capacityProvider":"PINION","base":1}]`: `"base":1`,
	} {
		got := f.must(t, "CreateService", `{"taskDefinition":"tensorflow-1-gpu","desiredCount":1,`+body+`}`).Body.String()
		if !strings.Contains(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	if got := f.must(t, "ListServices", `{"launchType":"EC2"}`).Body.String(); got != `{"serviceArns":["`+arnPrefix+`service/default/b"]}` {
		t.Errorf("%s", got)
	}
}

// The empty forms that clients send ask for nothing.
func TestWhatAsksForNothingIsNoFault(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":1,"loadBalancers":[],"serviceRegistries":[],"volumeConfigurations":[],"vpcLatticeConfigurations":[],"networkConfiguration":{},
		"serviceConnectConfiguration":{"enabled":false},"deploymentController":{"type":"ECS"},"capacityProviderStrategy":[],"placementConstraints":[],"clientToken":"1",
		"deploymentConfiguration":{"strategy":"ROLLING","bakeTimeInMinutes":0,"alarms":{"alarmNames":[],"enable":false,"rollback":false}}}`)
}

// A service with a name that is free again is another one.
func TestANewServiceOfAnOldName(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":1}`)
	f.must(t, "DeleteService", `{"service":"web","force":true}`)
	f.must(t, "CreateService", `{`+serving+`,"desiredCount":4}`)
	if got := f.web(t); got.Status != "ACTIVE" || got.DesiredCount != 4 {
		t.Errorf("%+v", got)
	}
}

func TestAClusterWithServicesIsNotDeleted(t *testing.T) {
	f := ready(t)
	f.must(t, "CreateCluster", `{"clusterName":"lab"}`)
	f.must(t, "CreateService", `{"cluster":"lab",`+serving+`,"desiredCount":1}`)
	refused := func() {
		f.call("DeleteCluster", `{"cluster":"lab"}`).wantError(t, "ClusterContainsServicesException", "The Cluster cannot be deleted while Services are active.")
	}
	refused()
	s := f.state.View().Service("lab", "web")
	task := &spec.Task{ID: "0123", Cluster: "lab", Definition: s.Primary().Definition, LastStatus: spec.Provisioning, DesiredStatus: spec.Running, Service: &spec.ServiceMember{ID: s.ID, Deployment: s.Primary().ID}}
	f.mustApply(t, raftfsm.StepService{ServiceID: s.ID, Version: s.Version, Service: *s, Starts: []*spec.Task{task}})
	refused()
	f.mustApply(t, raftfsm.StopTask{ID: task.ID, Code: spec.StopUserInitiated})
	f.must(t, "DeleteService", `{"cluster":"lab","service":"web","force":true}`)
	f.must(t, "DeleteCluster", `{"cluster":"lab"}`)
}

func TestPagesOfServices(t *testing.T) {
	f := ready(t)
	for n := range 12 {
		f.must(t, "CreateService", fmt.Sprintf(`{"serviceName":"s%02d","taskDefinition":"tensorflow-1-gpu","desiredCount":1}`, n))
	}
	var page struct {
		ServiceARNs []string
		NextToken   string
	}
	f.must(t, "ListServices", `{}`).decode(t, &page)
	if len(page.ServiceARNs) != listedServices || page.NextToken == "" {
		t.Errorf("%+v", page)
	}
	f.must(t, "ListServices", `{"nextToken":"`+page.NextToken+`"}`).decode(t, &page)
	if len(page.ServiceARNs) != 2 || !strings.HasSuffix(page.ServiceARNs[1], "/s11") {
		t.Errorf("%+v", page)
	}
}
