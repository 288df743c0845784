package ecs

import (
	"strings"
	"testing"

	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/service"
	"pinion/raftfsm/spec"
)

const (
	agents    = `{"family":"agents","containerDefinitions":[{"name":"agent","image":"busybox","memory":64}]}`
	noDaemon  = "DaemonNotFoundException"
	daemonARN = arnPrefix + "daemon/default/agent"
	critical  = `"daemonTaskDefinitionArn":"` + arnPrefix + `daemon-task-definition/agents:1","capacityProviderArns":["PINION"]`
	running   = critical + `,"critical":false`
	theDaemon = `{"daemonArn":"` + daemonARN + `"}`
)

// shownDaemon is the part of a daemon that tests look at.
type shownDaemon struct {
	Daemon struct {
		Status, DeploymentARN string
		CurrentRevisions      []struct {
			ARN                                        string
			TotalRunningCount, TotalWithoutDaemonCount int
		}
	}
}

// readyForDaemons has the daemon task definition agents:1.
func readyForDaemons(t testing.TB) *fixture {
	f := ready(t)
	f.must(t, "RegisterDaemonTaskDefinition", agents)
	return f
}

func (f *fixture) daemon(t testing.TB) (out shownDaemon) {
	t.Helper()
	f.must(t, "DescribeDaemon", theDaemon).decode(t, &out)
	return out
}

// agent is the daemon as it is recorded.
func (f *fixture) agent() *service.Service { return f.state.View().Service("default", "daemon/agent") }

// The life of a daemon, each answer with every byte of it.
func TestTheLifeOfADaemon(t *testing.T) {
	f := ready(t)
	step := func(name, operation, body string) {
		t.Helper()
		f.must(t, operation, body).stable().golden(t, name)
	}
	step("register-daemon", "RegisterDaemonTaskDefinition", `{"family":"agents","cpu":"256","memory":"128","pidMode":"shared","ipcMode":"none","taskRoleArn":"r","tags":[{"key":"a","value":"b"}],
		"volumes":[{"name":"logs","host":{"sourcePath":"local/logs"}}],"containerDefinitions":[{"name":"agent","image":"busybox","command":["sleep","1d"],"essential":true,
		"environment":[{"name":"A","value":"1"}],"mountPoints":[{"sourceVolume":"logs","containerPath":"/logs","readOnly":true}],"linuxParameters":{"capabilities":{"add":["SYS_PTRACE"]}},
		"healthCheck":{"command":["CMD","true"]},"restartPolicy":{"enabled":true},"stopTimeout":5,"secrets":[],"logConfiguration":{"logDriver":"json-file"}}]}`)
	step("describe-daemon-definition", "DescribeDaemonTaskDefinition", `{"daemonTaskDefinition":"agents"}`)
	step("list-daemon-definitions", "ListDaemonTaskDefinitions", `{}`)
	step("create-daemon", "CreateDaemon", `{"daemonName":"agent",`+running+`,"clusterArn":"`+arnPrefix+`cluster/default","propagateTags":"DAEMON","enableECSManagedTags":true,
		"deploymentConfiguration":{"drainPercent":12.5,"bakeTimeInMinutes":3},"tags":[{"key":"c","value":"d"}]}`)
	step("describe-daemon", "DescribeDaemon", theDaemon)
	step("list-daemons", "ListDaemons", `{}`)
	step("list-daemon-deployments", "ListDaemonDeployments", theDaemon)
	deployment := f.daemon(t).Daemon.DeploymentARN
	step("describe-daemon-deployments", "DescribeDaemonDeployments", `{"daemonDeploymentArns":["`+deployment+`","`+deployment+`0"]}`)
	step("describe-daemon-revisions", "DescribeDaemonRevisions", `{"daemonRevisionArns":["`+f.daemon(t).Daemon.CurrentRevisions[0].ARN+`"]}`)
	step("update-daemon", "UpdateDaemon", `{"daemonArn":"`+daemonARN+`",`+running+`,"propagateTags":"NONE"}`)
	step("delete-daemon", "DeleteDaemon", theDaemon)
	step("delete-daemon-definition", "DeleteDaemonTaskDefinition", `{"daemonTaskDefinition":"agents:1"}`)
}

// A daemon is a service of the strategy DAEMON, which is deployed as ECS deploys daemons.
func TestADaemonIsKeptAsAService(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
	s := f.agent()
	if d := s.Settings.Deployment; s.Strategy != service.Daemon || *d.DrainPerMille != 250 || !d.Breaker.Enable || !d.Breaker.Rollback || s.Primary().Definition != "daemon/agents:1" ||
		s.Settings.Providers[0].CapacityProvider != "PINION" || s.Group() != "daemon:agent" {
		t.Errorf("%+v", s)
	}
	before := s.Primary().ID
	f.must(t, "UpdateDaemon", `{"daemonArn":"`+daemonARN+`",`+running+`,"deploymentConfiguration":{"bakeTimeInMinutes":1}}`)
	s = f.agent()
	if d := s.Settings.Deployment; s.Primary().ID == before || *d.DrainPerMille != 250 || *d.BakeMinutes != 1 {
		t.Errorf("an update without another definition deploys nothing, or has forgotten what it does not say: %+v", s)
	}
}

// Nothing of a daemon is there for who asks for services, and the other way round; a daemon and a service may have one name.
func TestDaemonsAreNoServices(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
	deployment := strings.TrimPrefix(f.daemon(t).Daemon.DeploymentARN, daemonARN[:len(arnPrefix)]+"daemon-deployment/default/agent/")
	for _, c := range []struct{ operation, body, want string }{
		{"ListServices", `{}`, `{"serviceArns":[]}`},
		{"ListTaskDefinitions", `{}`, `{"taskDefinitionArns":["` + arnPrefix + `task-definition/tensorflow-1-gpu:1"]}`},
		{"ListTaskDefinitions", `{"familyPrefix":"daemon/agents"}`, `{"taskDefinitionArns":[]}`},
		{"ListTaskDefinitionFamilies", `{}`, `{"families":["tensorflow-1-gpu"]}`},
		{"DescribeServices", `{"services":["agent"]}`, `{"services":[],"failures":[{"arn":"` + arnPrefix + `service/default/agent","reason":"MISSING"}]}`},
		{"DescribeServiceDeployments", `{"serviceDeploymentArns":["` + arnPrefix + `service-deployment/default/agent/` + deployment + `"]}`,
			`{"serviceDeployments":[],"failures":[{"arn":"` + arnPrefix + `service-deployment/default/agent/` + deployment + `","reason":"MISSING"}]}`},
		{"DescribeServiceRevisions", `{"serviceRevisionArns":["` + arnPrefix + `service-revision/default/agent/` + f.agent().Primary().ID + `"]}`,
			`{"serviceRevisions":[],"failures":[{"arn":"` + arnPrefix + `service-revision/default/agent/` + f.agent().Primary().ID + `","reason":"MISSING"}]}`},
	} {
		if got := f.must(t, c.operation, c.body).Body.String(); got != c.want {
			t.Errorf("%s %s: %s", c.operation, c.body, got)
		}
	}
	before := f.index
	for operation, body := range map[string]string{
		"DescribeServices": `{"services":["daemon/agent"]}`, "UpdateService": `{"service":"daemon/agent","forceNewDeployment":true}`, "DeleteService": `{"service":"daemon/agent","force":true}`,
		"CreateService": `{"serviceName":"daemon/other","taskDefinition":"tensorflow-1-gpu","schedulingStrategy":"DAEMON"}`, "ListTasks": `{"serviceName":"daemon/agent"}`,
		"RunTask": `{"taskDefinition":"daemon/agents:1"}`, "DescribeTaskDefinition": `{"taskDefinition":"daemon/agents:1"}`, "DeregisterTaskDefinition": `{"taskDefinition":"daemon/agents:1"}`,
		"RegisterTaskDefinition": strings.Replace(agents, "agents", "daemon/agents", 1), "CreateTaskSet": `{"cluster":"default","service":"daemon/agent","taskDefinition":"agents:1"}`,
		"StopServiceDeployment": `{"serviceDeploymentArn":"` + arnPrefix + `service-deployment/default/agent/` + deployment + `"}`, "CreateCluster": `{"clusterName":"daemon/x"}`,
		"StartTask": `{"taskDefinition":"` + arnPrefix + `daemon-task-definition/agents:1","containerInstances":["` + hostID + `"]}`,
	} {
		if got := f.call(operation, body); got.err == nil || f.index != before {
			t.Errorf("%s %s: %v", operation, body, got.Body)
		}
	}
	f.call("CreateDaemon", `{"daemonName":"x","daemonTaskDefinitionArn":"tensorflow-1-gpu:1","capacityProviderArns":["PINION"]}`).wantError(t, "ClientException", "Unable to describe daemon task definition.")
	f.call("RunTask", `{"taskDefinition":"tensorflow-1-gpu","group":"daemon:agent"}`).wantError(t, invalid, "Invalid namespace for group: daemon: is reserved for daemons.")
	f.must(t, "CreateService", `{"serviceName":"agent","taskDefinition":"tensorflow-1-gpu","desiredCount":1}`)
	f.must(t, "DeleteService", `{"service":"agent","force":true}`)
	if got := f.daemon(t).Daemon.Status; got != "ACTIVE" {
		t.Errorf("a service took the daemon of its name with it: %s", got)
	}
}

// What Pinion cannot mean is refused by the name of the member.
func TestWhatADaemonCannotSay(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "CreateCapacityProvider", `{"name":"night"}`)
	const arnOf = `"daemonName":"agent","daemonTaskDefinitionArn":"agents:1"`
	for _, member := range []string{
		`"capacityProviderArns":[]`, `"capacityProviderArns":["PINION","night"]`, `"capacityProviderArns":["night"]`, `"capacityProviderArns":["nothing"]`,
		`"capacityProviderArns":["PINION"],"propagateTags":"SERVICE"`,
		`"capacityProviderArns":["PINION"],"deploymentConfiguration":{"alarms":{"enable":true,"alarmNames":["a"]}}`, `"capacityProviderArns":["PINION"],"clientToken":"a b"`,
		`"capacityProviderArns":["PINION"],"deploymentConfiguration":{"drainPercent":100.5}`, `"capacityProviderArns":["PINION"],"deploymentConfiguration":{"drainPercent":-1}`, `"capacityProviderArns":["PINION"],"deploymentConfiguration":{"drainPercent":33.33}`,
		`"capacityProviderArns":["PINION"],"deploymentConfiguration":{"bakeTimeInMinutes":1441}`, `"capacityProviderArns":["PINION"],"tags":[{"key":"pinion.gang","value":"true"}]`,
	} {
		if got := errorType(f.call("CreateDaemon", `{`+arnOf+`,`+member+`}`).err); got != invalid {
			t.Errorf("%s: %q", member, got)
		}
	}
	f.must(t, "CreateDaemon", `{`+arnOf+`,"capacityProviderArns":["`+arnPrefix+`capacity-provider/PINION"],"critical":false,"enableExecuteCommand":false,"deploymentConfiguration":{"alarms":{"enable":false}}}`)
	if got := errorType(f.call("CreateDaemon", `{`+arnOf+`,"capacityProviderArns":["PINION"],"critical":false}`).err); got != invalid {
		t.Errorf("a second daemon of the name: %q", got)
	}
	if got := errorType(f.call("CreateDaemon", `{"daemonName":"a/b",`+running+`}`).err); got != invalid {
		t.Errorf("a name with a slash: %q", got)
	}
}

// What is refused of a task definition is refused of one of daemons, under the name of the member; and what has another meaning.
func TestWhatADaemonDefinitionCannotSay(t *testing.T) {
	f := readyForDaemons(t)
	const containers, one = `"containerDefinitions":[{"name":"a","image":"b","memory":64}]`, `"containerDefinitions":[{"name":"a","image":"b","memory":64,`
	for member, body := range map[string]string{
		"logDriverVolumeConfiguration": containers + `,"volumes":[{"name":"a","logDriverVolumeConfiguration":{"driver":"json-file"}}]`,
		"pidMode":                      containers + `,"pidMode":"host"`, "ipcMode": containers + `,"ipcMode":"host"`, "'memory'": `"containerDefinitions":[{"name":"a","image":"b"}]`,
		"cpu": containers + `,"cpu":"much"`, "Container list": `"containerDefinitions":[]`, "mountPoints": one + `"mountPoints":[{"sourceVolume":"x","containerPath":"/x"}]}]`,
		"secrets": one + `"secrets":[{"name":"a","valueFrom":"arn:aws:s3:::b"}]}]`, "environmentFiles": one + `"environmentFiles":[{"type":"s3","value":"b"}]}]`,
		"devices":               one + `"linuxParameters":{"devices":[{"hostPath":"/dev/mem"}]}}]`,
		"firelensConfiguration": one + `"firelensConfiguration":{"type":"logstash"}}]`, "repositoryCredentials": one + `"repositoryCredentials":{"credentialsParameter":"arn:aws:s3:::x"}}]`,
		"secretOptions": one + `"logConfiguration":{"logDriver":"awslogs","secretOptions":[{"name":"awslogs-group","valueFrom":"b"}]}}]`,
	} {
		if got := f.call("RegisterDaemonTaskDefinition", `{"family":"agents",`+body+`}`); got.err == nil || !strings.Contains(got.err.Error(), member) {
			t.Errorf("%s: %v", member, got.err)
		}
	}
	if got := f.call("RegisterDaemonTaskDefinition", strings.Replace(agents, "agents", "daemon/agents", 1)); errorType(got.err) != wire.Client {
		t.Errorf("a family with a slash: %v", got.err)
	}
	f.must(t, "RegisterDaemonTaskDefinition", `{"family":"agents",`+containers+`,"ipcMode":"shared"}`)
	if d := f.state.View().Definition("daemon/agents:2"); d.IPCMode != "host" || d.PIDMode != "" || d.NetworkMode != "" {
		t.Errorf("%+v", d)
	}
}

// A daemon that ends stays DELETE_IN_PROGRESS while its tasks stop, and its name is free then.
func TestADaemonIsDeletedWithItsTasks(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
	s := f.agent()
	task := &spec.Task{ID: firstTask, Cluster: "default", Definition: "daemon/agents:1", Group: s.Group(), LastStatus: spec.Provisioning, DesiredStatus: spec.Running,
		Containers: []spec.Container{{Name: "agent"}}, Service: &spec.ServiceMember{ID: s.ID, Deployment: s.Primary().ID, Host: hostID}, CreatedAt: epoch}
	next := *s
	next.Desired = 1
	f.mustApply(t, raftfsm.StepService{ServiceID: s.ID, Version: s.Version, Service: next, Starts: []*spec.Task{task}, At: epoch})
	f.mustApply(t, raftfsm.PlaceTasks{Groups: [][]spec.Placement{{{TaskID: firstTask, HostID: hostID, GPUs: [][]string{nil}}}}})
	if got := f.daemon(t).Daemon.CurrentRevisions[0]; got.TotalRunningCount != 0 || got.TotalWithoutDaemonCount != 1 {
		t.Errorf("before it runs: %+v", got)
	}
	f.reportRunning(t, firstTask)
	if got := f.daemon(t).Daemon.CurrentRevisions[0]; got.TotalRunningCount != 1 || got.TotalWithoutDaemonCount != 0 {
		t.Errorf("when it runs: %+v", got)
	}
	for body, want := range map[string]int{`{"daemonName":"agent"}`: 1, `{"daemonName":"other"}`: 0, `{"daemonName":"daemon/agent"}`: 0} {
		if got := strings.Count(f.must(t, "ListTasks", body).Body.String(), "arn:"); got != want {
			t.Errorf("%s: %d tasks", body, got)
		}
	}
	f.call("UpdateTaskProtection", `{"cluster":"default","tasks":["`+firstTask+`"],"protectionEnabled":true}`)
	if !f.state.View().Task(firstTask).ProtectedUntil.IsZero() {
		t.Error("the task of a daemon is protected")
	}
	f.must(t, "DeleteDaemon", theDaemon)
	if got := f.daemon(t).Daemon.Status; got != "DELETE_IN_PROGRESS" {
		t.Error(got)
	}
	f.call("DeleteDaemon", theDaemon).wantError(t, "DaemonNotActiveException", "Daemon was not ACTIVE.")
	f.call("UpdateDaemon", `{"daemonArn":"`+daemonARN+`",`+running+`}`).wantError(t, "DaemonNotActiveException", "Daemon was not ACTIVE.")
	f.reportExited(t, firstTask, 0)
	f.mustApply(t, raftfsm.StepService{ServiceID: s.ID, Version: f.agent().Version, Service: *f.agent(), Noted: []string{firstTask}, At: epoch})
	f.call("DescribeDaemon", theDaemon).wantError(t, noDaemon, "Daemon not found.")
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
}

// A definition that is deleted goes on being run by the daemons that have it, and no other takes it.
func TestADeletedDaemonDefinition(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "RegisterDaemonTaskDefinition", agents)
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
	if got := errorType(f.call("DeleteDaemonTaskDefinition", `{"daemonTaskDefinition":"agents"}`).err); got != invalid {
		t.Errorf("without a revision: %q", got)
	}
	f.must(t, "DeleteDaemonTaskDefinition", `{"daemonTaskDefinition":"agents:1"}`)
	if got := errorType(f.call("DeleteDaemonTaskDefinition", `{"daemonTaskDefinition":"agents:1"}`).err); got != invalid {
		t.Errorf("again: %q", got)
	}
	if got := errorType(f.call("CreateDaemon", `{"daemonName":"other",`+running+`}`).err); got != invalid {
		t.Errorf("a daemon of it: %q", got)
	}
	listed := func(body string) string {
		t.Helper()
		var out struct{ DaemonTaskDefinitions []struct{ ARN string } }
		f.must(t, "ListDaemonTaskDefinitions", body).decode(t, &out)
		names := []string{}
		for _, d := range out.DaemonTaskDefinitions {
			names = append(names, strings.TrimPrefix(d.ARN, arnPrefix+"daemon-task-definition/"))
		}
		return strings.Join(names, " ")
	}
	f.must(t, "RegisterDaemonTaskDefinition", strings.Replace(agents, "agents", "agents-2", 1))
	for body, want := range map[string]string{
		`{}`: "agents:2 agents-2:1", `{"status":"DELETE_IN_PROGRESS"}`: "agents:1", `{"status":"ALL"}`: "agents:1 agents:2 agents-2:1", `{"status":"ALL","sort":"DESC"}`: "agents-2:1 agents:2 agents:1",
		`{"family":"agents"}`: "agents:2", `{"familyPrefix":"agents-"}`: "agents-2:1", `{"status":"ALL","revision":"LAST_REGISTERED"}`: "agents:2 agents-2:1", `{"maxResults":1}`: "agents:2",
		`{"familyPrefix":"x"}`: "",
	} {
		if got := listed(body); got != want {
			t.Errorf("%s: %s", body, got)
		}
	}
	f.mustApply(t, raftfsm.Reap{Before: epoch, InactiveBefore: epoch})
	if f.state.View().Definition("daemon/agents:1") == nil {
		t.Error("the definition of a daemon is forgotten")
	}
	f.must(t, "DeleteDaemon", theDaemon)
	f.mustApply(t, raftfsm.Reap{Before: epoch.AddDate(0, 0, 1), InactiveBefore: epoch.AddDate(0, 0, 1)})
	if f.state.View().Definition("daemon/agents:1") != nil {
		t.Error("a deleted definition stays that nothing has")
	}
}

// Daemons and their definitions have tags like services and task definitions.
func TestDaemonsAreTagged(t *testing.T) {
	f := readyForDaemons(t)
	f.must(t, "CreateDaemon", `{"daemonName":"agent",`+running+`}`)
	for _, resource := range []string{daemonARN, arnPrefix + "daemon-task-definition/agents:1"} {
		f.must(t, "TagResource", `{"resourceArn":"`+resource+`","tags":[{"key":"a","value":"b"},{"key":"c","value":"d"}]}`)
		f.must(t, "UntagResource", `{"resourceArn":"`+resource+`","tagKeys":["a"]}`)
		if got := f.must(t, "ListTagsForResource", `{"resourceArn":"`+resource+`"}`).Body.String(); got != `{"tags":[{"key":"c","value":"d"}]}` {
			t.Errorf("%s: %s", resource, got)
		}
	}
	for _, resource := range []string{arnPrefix + "daemon/default/other", arnPrefix + "daemon-task-definition/other:1"} {
		if got := errorType(f.call("TagResource", `{"resourceArn":"`+resource+`","tags":[{"key":"a","value":"b"}]}`).err); got != resourceNotFound {
			t.Errorf("%s: %q", resource, got)
		}
	}
}
