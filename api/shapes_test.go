package api

import (
	"os"
	"testing"
)

const oneGPU = `{"family":"tensorflow-1-gpu","cpu":"1024","memory":"6144","placementConstraints":[],"containerDefinitions":[
	{"name":"tensorflow-gpu","image":"brentley/tensorflow-gpu:8904d11","cpu":1024,"resourceRequirements":[{"type":"GPU","value":"1"}]}]}`

// The first task that a test runs has this id.
const firstTask = "00000000000000000000000000000001"

func document(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile("ecs/testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The life of a cluster and a task, each answer with every byte of it.
func TestAnswersHaveExactlyECSsShape(t *testing.T) {
	b := newFixture(t)
	step := func(name, operation, body string) {
		t.Helper()
		b.must(t, operation, body).golden(t, name)
	}
	step("create-cluster", "CreateCluster", `{"clusterName":"research","tags":[{"key":"team","value":"vision"}]}`)
	step("describe-clusters", "DescribeClusters", `{"clusters":["default","nowhere"]}`)
	step("describe-clusters-all", "DescribeClusters", `{"clusters":["research"],"include":["STATISTICS","TAGS","SETTINGS"]}`)
	step("list-clusters", "ListClusters", `{}`)

	step("register", "RegisterTaskDefinition", document(t, "gpu-1-taskdef.json"))
	step("register-seed2", "RegisterTaskDefinition", document(t, "seed2-count-form.json"))
	step("register-seed3", "RegisterTaskDefinition", document(t, "seed3-example-ecs-gpu.json"))
	step("register-full", "RegisterTaskDefinition", everything)
	step("describe-task-definition", "DescribeTaskDefinition", `{"taskDefinition":"tensorflow-1-gpu","include":["TAGS"]}`)
	step("list-task-definitions", "ListTaskDefinitions", `{}`)
	step("list-task-definition-families", "ListTaskDefinitionFamilies", `{"familyPrefix":"seed"}`)

	step("run-task", "RunTask", `{"cluster":"default","taskDefinition":"tensorflow-1-gpu","clientToken":"one"}`)
	step("run-task-failure", "RunTask", `{"taskDefinition":"tensorflow-1-gpu","overrides":{"containerOverrides":[{"name":"tensorflow-gpu","resourceRequirements":[{"type":"GPU","value":"4"}]}]}}`)
	step("start-task", "StartTask", `{"taskDefinition":"example-ecs-gpu","containerInstances":["`+hostID+`"],"startedBy":"me","tags":[{"key":"k","value":"v"}],"overrides":{"containerOverrides":[{"name":"gpu","command":["nvidia-smi","-L"],"environment":[{"name":"A","value":"1"}]}],"taskRoleArn":"r"}}`)
	step("list-tasks", "ListTasks", `{"family":"tensorflow-1-gpu"}`)
	b.reportRunning(t, firstTask)
	step("describe-tasks-running", "DescribeTasks", `{"tasks":["`+firstTask+`","ffffffffffffffffffffffffffffffff"]}`)
	step("describe-statistics", "DescribeClusters", `{"include":["STATISTICS"]}`)
	step("stop-task", "StopTask", `{"task":"`+firstTask+`","reason":"enough"}`)
	b.reportExited(t, firstTask, 0)
	step("describe-tasks-stopped", "DescribeTasks", `{"tasks":["`+firstTask+`"],"include":["TAGS"]}`)

	step("list-container-instances", "ListContainerInstances", `{}`)
	step("describe-container-instances", "DescribeContainerInstances", `{"containerInstances":["`+hostID+`","bbbb"],"include":["CONTAINER_INSTANCE_HEALTH","TAGS"]}`)
	step("deregister", "DeregisterTaskDefinition", `{"taskDefinition":"seed2:1"}`)
}

// everything is a task definition with each field that Pinion does.
const everything = `{
	"family": "everything", "taskRoleArn": "role", "executionRoleArn": "execution", "networkMode": "bridge", "cpu": "1 vCPU", "memory": "2GB",
	"requiresCompatibilities": ["EC2"], "pidMode": "host", "ipcMode": "host", "runtimePlatform": {"cpuArchitecture": "X86_64", "operatingSystemFamily": "LINUX"},
	"volumes": [{"name": "scratch"}, {"name": "data", "host": {"sourcePath": "/data"}}],
	"tags": [{"key": "team", "value": "vision"}], "placementConstraints": [], "inferenceAccelerators": [],
	"containerDefinitions": [
		{"name": "main", "image": "busybox", "cpu": 512, "memory": 1024, "memoryReservation": 512, "entryPoint": ["sh"], "command": ["-c", "true"],
		 "environment": [{"name": "A", "value": "1"}], "workingDirectory": "/tmp", "user": "1000:1000", "hostname": "h",
		 "portMappings": [{"containerPort": 80}, {"containerPort": 53, "hostPort": 5353, "protocol": "udp", "name": "dns"}],
		 "mountPoints": [{"sourceVolume": "data", "containerPath": "/data", "readOnly": true}], "volumesFrom": [], "links": [], "systemControls": [], "dnsServers": [],
		 "linuxParameters": {"capabilities": {"add": ["SYS_PTRACE"], "drop": ["NET_RAW"]}, "initProcessEnabled": false, "sharedMemorySize": 64, "tmpfs": [{"containerPath": "/t", "size": 16, "mountOptions": ["noexec"]}], "devices": []},
		 "ulimits": [{"name": "memlock", "softLimit": -1, "hardLimit": -1}], "stopTimeout": 5, "privileged": false, "readonlyRootFilesystem": true,
		 "pseudoTerminal": true, "interactive": true, "dockerLabels": {"a": "b"}, "logConfiguration": {"logDriver": "json-file", "options": {"max-size": "10m"}, "secretOptions": []}},
		{"name": "side", "image": "busybox", "memory": 64, "essential": false, "secrets": [], "volumesFrom": [{"sourceContainer": "main", "readOnly": true}],
		 "healthCheck": {"command": ["CMD-SHELL", "true"]}, "dependsOn": [{"containerName": "main", "condition": "START"}], "startTimeout": 60,
		 "restartPolicy": {"enabled": true, "ignoredExitCodes": [0]}, "versionConsistency": "disabled", "extraHosts": [{"hostname": "db", "ipAddress": "10.0.0.9"}],
		 "dnsServers": ["10.0.0.2"], "dnsSearchDomains": ["lab.example"], "systemControls": [{"namespace": "net.core.somaxconn", "value": "512"}],
		 "portMappings": [{"containerPort": 8080, "name": "web", "appProtocol": "http"}],
		 "resourceRequirements": [{"type": "GPU", "sharingStrategy": {"nvidiaMps": {"memory": 4096, "maxComputePercent": 50}}}]}]}`
