package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// The cases of the documents that Pinion was made from, with the real AWS CLI and nothing but `eval "$(pinion env)"`
// before them. S1.1 and so on are their names in the requirements.

func TestS11RegisterTheBlogsTaskDefinition(t *testing.T) {
	h := sharedHost(t)
	a := h.aws(t, `aws ecs register-task-definition --cli-input-json file://gpu-1-taskdef.json`)
	if a.text("taskDefinition", "status") != "ACTIVE" || !strings.HasSuffix(a.text("taskDefinition", "taskDefinitionArn"), "task-definition/tensorflow-1-gpu:1") {
		t.Errorf("got %v", a)
	}
	requirement := a.at("taskDefinition", "containerDefinitions", 0, "resourceRequirements", 0)
	if m, _ := requirement.(map[string]any); m["type"] != "GPU" || m["value"] != "1" {
		t.Errorf("the GPU requirement came back as %v", requirement)
	}
}

func TestS12And15RunItAndSeeItsOneGPU(t *testing.T) {
	h := sharedHost(t)
	h.aws(t, `aws ecs register-task-definition --cli-input-json file://gpu-1-taskdef.json`)
	a := h.aws(t, `export cluster=default; aws ecs run-task --cluster $cluster --task-definition tensorflow-1-gpu`)
	task := a.at("tasks", 0)
	if a.text("tasks", 0, "lastStatus") != "PENDING" || a.text("tasks", 0, "memory") != "6144" || a.text("tasks", 0, "cpu") != "1024" {
		t.Errorf("got %v", task)
	}
	gpus := a.list("tasks", 0, "containers", 0, "gpuIds")
	if len(gpus) != 1 || len(a.list("failures")) != 0 {
		t.Fatalf("gpuIds %v, failures %v", gpus, a.list("failures"))
	}
	log := h.pinion(t, "logs", "-f", taskID(a))
	if strings.Count(log, "GPU ") != 1 || !strings.Contains(log, "GPU 0:") || !strings.Contains(log, gpus[0].(string)) {
		t.Errorf("the container's nvidia-smi -L shows\n%s, want one line with %v", log, gpus[0])
	}
	h.waitStopped(t, taskID(a))

	events := h.aws(t, `aws logs get-log-events --log-group-name test-task-tensorflow-gpu --log-stream-name tensorflow-gpu/tensorflow-gpu/`+taskID(a))
	if n := len(events.list("events")); n != 1 || !strings.Contains(events.text("events", 0, "message"), gpus[0].(string)) {
		t.Errorf("where document 1 looks at it, the log is %v", events)
	}
	for _, ask := range []string{"get-log-events --log-stream-name", "filter-log-events --log-stream-names"} {
		from := fmt.Sprintf(` tensorflow-gpu/tensorflow-gpu/%s --start-time %.0f`, taskID(a), events.at("events", 0, "timestamp"))
		again := h.aws(t, `aws logs `+ask+from+` --log-group-name test-task-tensorflow-gpu`)
		if len(again.list("events")) != 1 {
			t.Errorf("%s from its own time stamp on: %v", ask, again)
		}
	}
}

func TestS32TheUserGuidesExampleExitsWithZero(t *testing.T) {
	h := sharedHost(t)
	h.aws(t, `aws ecs register-task-definition --cli-input-json file://seed3-example-ecs-gpu.json`)
	a := h.aws(t, `aws ecs run-task --cluster default --task-definition example-ecs-gpu`)
	if n := len(a.list("tasks", 0, "containers", 0, "gpuIds")); n != 2 {
		t.Fatalf("%d gpuIds in %v", n, a)
	}
	h.aws(t, `aws ecs wait tasks-stopped --tasks `+taskID(a)+` && echo {}`)
	d := h.aws(t, `aws ecs describe-tasks --tasks `+taskID(a))
	if d.text("tasks", 0, "lastStatus") != "STOPPED" || d.text("tasks", 0, "stopCode") != "EssentialContainerExited" || d.at("tasks", 0, "containers", 0, "exitCode") != 0.0 {
		t.Errorf("got %v", d.at("tasks", 0))
	}
}

func TestS34AllGPUsOfATaskMustBeOnOneHost(t *testing.T) {
	h := sharedHost(t)
	h.aws(t, `aws ecs register-task-definition --family split --container-definitions '[
	  {"name":"a","image":"busybox","memory":64,"resourceRequirements":[{"type":"GPU","value":"5"}]},
	  {"name":"b","image":"busybox","memory":64,"resourceRequirements":[{"type":"GPU","value":"4"}]}]'`)
	a := h.aws(t, `aws ecs run-task --task-definition split`)
	if len(a.list("tasks")) != 0 || a.text("failures", 0, "reason") != "RESOURCE:GPU" || !strings.Contains(a.text("failures", 0, "arn"), ":container-instance/") {
		t.Errorf("got %v", a)
	}
}

func TestS35AFragmentIsNotJSON(t *testing.T) {
	h := sharedHost(t)
	body := `{ "containerDefinitions": [ { ... "resourceRequirements" : [ { "type" : "GPU", "value" : "2" } ], }, ... }`
	status, a := h.post(t, "RegisterTaskDefinition", body)
	if status != 400 || a.text("__type") != "SerializationException" {
		t.Errorf("status %d, %v", status, a)
	}
}

func TestS21TheCountFormBecomesTheECSForm(t *testing.T) {
	h := sharedHost(t)
	_, registered := h.post(t, "RegisterTaskDefinition", readDocument(t, "seed2-count-form.json"))
	h.pinion(t, "register", "-f", documentsDir(t)+"/seed2-count-form.json")
	described := h.aws(t, `aws ecs describe-task-definition --task-definition seed2`)
	for _, a := range []document{registered, described} {
		container, _ := a.at("taskDefinition", "containerDefinitions", 0).(map[string]any)
		requirement := a.at("taskDefinition", "containerDefinitions", 0, "resourceRequirements", 0).(map[string]any)
		if len(requirement) != 2 || requirement["type"] != "GPU" || requirement["value"] != "1" {
			t.Errorf("requirement %v", requirement)
		}
		if env := a.at("taskDefinition", "containerDefinitions", 0, "environment", 0).(map[string]any); env["name"] != "NVIDIA_DRIVER_CAPABILITIES" || env["value"] != "compute" {
			t.Errorf("environment %v", container["environment"])
		}
	}
}

func TestS22TheAWSCLIRefusesTheCountFormItself(t *testing.T) {
	h := sharedHost(t)
	if out, err := h.sh(t, `aws ecs register-task-definition --cli-input-json file://seed2-count-form.json`); err == nil || !strings.Contains(err.Error(), "arameter") {
		t.Errorf("the client answered %q, %v", out, err)
	}
}

func TestS41TheYAMLFormWantsAFamily(t *testing.T) {
	h := sharedHost(t)
	file := documentsDir(t) + "/seed4-gpuCount.yaml"
	if _, err := h.tryPinion("register", "-f", file); err == nil || !strings.Contains(err.Error(), "--family") {
		t.Errorf("without a family: %v", err)
	}
	h.pinion(t, "register", "--family", "seed4", "-f", file)
	d := h.aws(t, `aws ecs describe-task-definition --task-definition seed4`)
	container := d.at("taskDefinition", "containerDefinitions", 0).(map[string]any)
	if _, shown := container["gpuCount"]; shown {
		t.Error("gpuCount is shown back")
	}
	if v := d.text("taskDefinition", "containerDefinitions", 0, "resourceRequirements", 0, "value"); v != "1" {
		t.Errorf("GPU requirement %q", v)
	}
	if d.text("taskDefinition", "taskRoleArn") == "" {
		t.Error("taskRoleArn is lost")
	}
}

func TestS01TheClusterIsOnePool(t *testing.T) {
	h := sharedHost(t)
	list := h.aws(t, `aws ecs list-container-instances`)
	arn, _ := list.list("containerInstanceArns")[0].(string)
	d := h.aws(t, `aws ecs describe-container-instances --container-instances `+arn)
	gpus := 0
	for _, r := range d.list("containerInstances", 0, "registeredResources") {
		if r := r.(map[string]any); r["name"] == "GPU" {
			gpus = len(r["stringSetValue"].([]any))
		}
	}
	if gpus != 8 || d.at("containerInstances", 0, "agentConnected") != true {
		t.Errorf("%d GPUs in %v", gpus, d)
	}
	version := func(member string) string { return d.text("containerInstances", 0, "versionInfo", member) }
	if version("agentVersion") == "" || version("agentHash") == "" || !strings.HasPrefix(version("dockerVersion"), "containerd ") {
		t.Errorf("got %v", d.at("containerInstances", 0, "versionInfo"))
	}
	c := h.aws(t, `aws ecs describe-clusters --include STATISTICS`)
	if c.at("clusters", 0, "registeredContainerInstancesCount") != 1.0 {
		t.Errorf("got %v", c)
	}
}

func TestS16CloudFormationIsPointedElsewhere(t *testing.T) {
	h := sharedHost(t)
	_, err := h.sh(t, `aws cloudformation describe-stacks --stack-name tensorflow-test --endpoint-url "$AWS_ENDPOINT_URL_ECS"`)
	if err == nil || !strings.Contains(err.Error(), "export cluster=default") {
		t.Errorf("got %v", err)
	}
}

// documentsDir is the folder with the task definitions that must work verbatim.
func documentsDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../api/ecs/testdata")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
