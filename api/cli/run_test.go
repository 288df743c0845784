package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// newRunHost is a host on which a task of `pinion run` goes through the given documents, one more at each look.
func newRunHost(t *testing.T, states ...string) *fakeHost {
	t.Helper()
	h := newFakeHost(t).withTasks()
	h.operations["RegisterTaskDefinition"] = always(`{"taskDefinition":{"family":"run-cuda","revision":4}}`)
	h.operations["RunTask"] = always(`{"tasks":[` + states[0] + `],"failures":[]}`)
	current := 0
	h.operations["DescribeTasks"] = func(map[string]any) any {
		current = min(current+1, len(states)-1)
		return `{"tasks":[` + states[current] + `],"failures":[]}`
	}
	h.documents["/v1/tasks/"+taskOne+"/pulls"] = serveDocument("[]")
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1"] = func(w http.ResponseWriter) any {
		logLines(w, "epoch 1", "!a warning", "epoch 2")
		return nil
	}
	return h
}

func taskState(status, rest string) string {
	return taskDocument(taskOne, `run-cuda:4","containerInstanceArn":"`+instance+`","lastStatus":"`+status+`",`+rest)
}

var (
	pending = taskState("PENDING", `"containers":[{"name":"cuda","gpuIds":["GPU-1","GPU-2"]}]`)
	running = taskState("RUNNING", `"containers":[{"name":"cuda"}]`)
)

func exitedTask(code int) string {
	return taskState("STOPPED", fmt.Sprintf(`"stopCode":"EssentialContainerExited","stoppedReason":"Essential container in task exited","containers":[{"name":"cuda","exitCode":%d}]`, code))
}

func TestRunShowsTheLogAndExitsWithTheContainersCode(t *testing.T) {
	for _, code := range []int{0, 3} {
		h := newRunHost(t, pending, pending, running, exitedTask(code))
		h.header = http.Header{"X-Pinion-Warning": {"image tag latest may change"}}
		got := pinion(t, h, "run", "--gpus", "2", "nvidia/cuda:12.4", "--", "nvidia-smi", "-L")
		if got.code != code {
			t.Errorf("exit code %d, want %d", got.code, code)
		}
		checkEqual(t, "stdout", got.out, "epoch 1\nepoch 2\n")
		if !strings.Contains(got.err, "task 3f2a00000000 on gpu-1 with 2 GPUs (GPU-1, GPU-2)\n") || !strings.HasSuffix(got.err, "a warning\n") {
			t.Errorf("stderr: %q", got.err)
		}
	}
}

func TestRunRegistersWhatWasAskedFor(t *testing.T) {
	h := newRunHost(t, pending, exitedTask(0))
	t.Setenv("TOKEN_HERE", "s3cret")
	got := pinion(t, h, "run", "--gpus", "2", "--cpus", "1.5", "--memory", "2g", "--shm-size", "512m", "--init", "--registry-secret", "hub", "--device", "/dev/fuse", "--device", "/dev/kvm:/dev/k:rw", "--network", "host", "--env", "A=b,c=d", "--env", "TOKEN_HERE",
		"--volume", "/data:/mnt:ro", "--volume", "/out:/out", "--lost-after", "10m", "nvidia/cuda:12.4", "--", "python", "train.py", "--epochs", "3")
	if got.code != 0 {
		t.Fatalf("%+v", got)
	}
	checkEqual(t, "RegisterTaskDefinition", indented(t, h.bodies["RegisterTaskDefinition"]), `{
  "containerDefinitions": [
    {
      "command": ["python","train.py","--epochs","3"],
      "cpu": 1536,
      "environment": [{"name":"A","value":"b,c=d"},{"name":"TOKEN_HERE","value":"s3cret"}],
      "essential": true,
      "image": "nvidia/cuda:12.4",
      "linuxParameters": {"devices":[{"hostPath":"/dev/fuse"},{"containerPath":"/dev/k","hostPath":"/dev/kvm","permissions":["read","write"]}],"initProcessEnabled":true,"sharedMemorySize":512},
      "memory": 2048,
      "mountPoints": [{"containerPath":"/mnt","readOnly":true,"sourceVolume":"volume-1"},{"containerPath":"/out","sourceVolume":"volume-2"}],
      "name": "cuda",
      "portMappings": [],
      "repositoryCredentials": {"credentialsParameter":"hub"},
      "resourceRequirements": [{"type":"GPU","value":"2"}],
      "volumesFrom": []
    }
  ],
  "cpu": "1536",
  "family": "run-cuda",
  "networkMode": "host",
  "volumes": [{"host":{"sourcePath":"/data"},"name":"volume-1"},{"host":{"sourcePath":"/out"},"name":"volume-2"}]
}`)
	var in map[string]any
	if err := json.Unmarshal([]byte(h.bodies["RunTask"]), &in); err != nil {
		t.Fatal(err)
	}
	if in["taskDefinition"] != "run-cuda:4" || in["cluster"] != "default" || len(in["clientToken"].(string)) < 26 {
		t.Errorf("RunTask %v", in)
	}
	if tags, _ := json.Marshal(in["tags"]); string(tags) != `[{"key":"pinion.lost-after","value":"10m"}]` {
		t.Errorf("tags %s", tags)
	}
}

// indented shows a request readably: its fields, and those of its container, on lines of their own in order of names.
func indented(t *testing.T, text string) string {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	container := document["containerDefinitions"].([]any)[0].(map[string]any)
	document["containerDefinitions"] = "HERE"
	return strings.Replace(fields(document, ""), `"HERE"`, "[\n    "+fields(container, "    ")+"\n  ]", 1)
}

func fields(document map[string]any, indent string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(document)) {
		value, _ := json.Marshal(document[name])
		lines = append(lines, fmt.Sprintf("%s  %q: %s", indent, name, value))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n" + indent + "}"
}

func TestRunDetachedPrintsTheID(t *testing.T) {
	h := newRunHost(t, pending, running)
	got := pinion(t, h, "run", "-d", "nvidia/cuda")
	checkEqual(t, "stdout", got.out, taskOne+"\n")
	if got.code != 0 || h.callCount("DescribeTasks") != 0 {
		t.Errorf("it stays no longer than it must: %+v", got)
	}
}

func TestATaskThatDoesNotStartSaysWhy(t *testing.T) {
	broken := taskState("STOPPED", `"stopCode":"TaskFailedToStart","stoppedReason":"CannotPullContainerError: nvidia/cuda:12.4: not found","containers":[{"name":"cuda","reason":"CannotPullContainerError: nvidia/cuda:12.4: not found"}]`)
	h := newRunHost(t, pending, broken)
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1"] = serveDocument("")
	got := pinion(t, h, "run", "nvidia/cuda:12.4")
	if got.code != 125 || !strings.HasSuffix(got.err, "pinion: task 3f2a00000000 did not start: CannotPullContainerError: nvidia/cuda:12.4: not found\n") {
		t.Errorf("%+v", got)
	}
	h.operations["DescribeTaskDefinition"] = always(errorReply{400, "ClientException", "Unable to describe task definition."})
	if got := pinion(t, h, "run", "trian:3"); !strings.Contains(got.err, `There is no task definition "trian:3" either`) {
		t.Errorf("a word that may be a definition: %+v", got)
	}
}

func TestATaskThatFindsNoPlaceSaysWhatIsFree(t *testing.T) {
	elsewhere := `{"arn":"arn:aws:ecs:us-east-1:123456789012:container-instance/default/` + hostOne + `","reason":"%s","detail":"%s"}`
	cases := map[string]struct {
		gpus, failure, says string
	}{
		"too few are free": {"2", fmt.Sprintf(elsewhere, "RESOURCE:GPU", ""),
			"RESOURCE:GPU: no host has 2 GPUs free: gpu-1 has 1 of 3 free. Wait for a task to end or stop one (`pinion ps`), or request fewer"},
		"more than any host has": {"4", fmt.Sprintf(elsewhere, "RESOURCE:GPU", ""),
			"RESOURCE:GPU: no host has 4 GPUs free: gpu-1 has 1 of 3 free. A task runs on one host, and none has more than 3: request fewer"},
		"no GPUs at all": {"1", `{"arn":"arn:aws:ecs:r:a:container-instance/default/ffff","reason":"RESOURCE:GPU"}`,
			"RESOURCE:GPU: no host of the cluster has a GPU that works. See `pinion gpus -o wide` and `pinion hosts -o json`"},
		"too little memory": {"0", fmt.Sprintf(elsewhere, "RESOURCE:MEMORY", "2048 MiB asked, 512 MiB free"),
			"no host can take the task: RESOURCE:MEMORY (2048 MiB asked, 512 MiB free). `pinion hosts` shows what is free. Wait for tasks to end, stop some, or request less"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := newRunHost(t, pending)
			h.operations["RunTask"] = always(`{"tasks":[],"failures":[` + c.failure + `]}`)
			got := pinion(t, h, "run", "--gpus", c.gpus, "nvidia/cuda")
			checkEqual(t, "stderr", got.err, "pinion: "+c.says+"\n")
			if got.code != 125 {
				t.Errorf("exit code %d", got.code)
			}
		})
	}
}

func TestAClusterWithoutHostsIsSaidSo(t *testing.T) {
	h := newRunHost(t, pending)
	h.operations["RunTask"] = always(errorReply{400, "InvalidParameterException", "No Container Instances were found in your cluster."})
	got := pinion(t, h, "run", "--cluster", "lab", "nvidia/cuda")
	if got.code != exit.NotStarted || !strings.Contains(got.err, "no host is in cluster lab") || !strings.Contains(got.err, "pinion token --cluster lab") {
		t.Errorf("%+v", got)
	}
}

func TestAClusterThatIsNotThereIsNamed(t *testing.T) {
	h := newRunHost(t, pending)
	h.operations["RunTask"] = always(errorReply{400, "ClusterNotFoundException", "Cluster not found."})
	h.documents["/v1/tasks?cluster=lab"] = serveDocument(errorReply{400, "ClusterNotFoundException", "Cluster not found."})
	h.operations["ListClusters"] = always(`{"clusterArns":["x/default","x/night"]}`)
	h.documents["/v1/queue?cluster=lab"] = serveDocument("[]")
	for _, line := range [][]string{{"run", "--cluster", "lab", "nvidia/cuda"}, {"ps", "--cluster", "lab"}, {"task", "ls", "--cluster", "lab"}, {"queue", "--cluster", "lab"}} {
		if got := pinion(t, h, line...); got.code != 1 || !strings.Contains(got.err, `"lab"`) || !strings.Contains(got.err, "default, night") {
			t.Errorf("%v: %+v", line, got)
		}
	}
}

func TestALogThatBreaksOffIsResumedWithoutAHoleOrALineTwice(t *testing.T) {
	h := newRunHost(t, pending, running, exitedTask(0))
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1"] = func(w http.ResponseWriter) any {
		logLines(w, "one", "two")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler) // the host restarts
	}
	h.documents["/v1/tasks/"+taskOne+"/logs?follow=1&since=2025-06-01T11%3A58%3A51Z"] = func(w http.ResponseWriter) any {
		fmt.Fprintln(w, `{"time":"2025-06-01T11:59:00Z","container":"cuda","stream":"stdout","text":"one"}`)
		fmt.Fprintln(w, `{"time":"2025-06-01T11:59:01Z","container":"cuda","stream":"stdout","text":"two"}`)
		fmt.Fprintln(w, `{"time":"2025-06-01T11:59:01Z","container":"cuda","stream":"stdout","text":"two again"}`)
		fmt.Fprintln(w, `{"time":"2025-06-01T11:59:02Z","container":"cuda","stream":"stdout","text":"three"}`)
		return nil
	}
	got := pinion(t, h, "run", "nvidia/cuda")
	checkEqual(t, "stdout", got.out, "one\ntwo\ntwo again\nthree\n")
	if got.code != 0 {
		t.Errorf("%+v", got)
	}
}

func TestRetriesEndWhenAHostStaysUnavailable(t *testing.T) {
	h := newRunHost(t, pending)
	h.operations["DescribeTasks"] = always(errorReply{500, "ServerException", "no leader"})
	waited := time.Duration(0)
	pause := func(_ context.Context, h time.Duration) error { waited += h; return nil }
	got := pinionWith(t, Program{system: invocation.System{Sleep: pause}}, h, "run", "nvidia/cuda")
	if got.code != 1 || !strings.Contains(got.err, "Retrying for up to a minute") || !strings.HasSuffix(got.err, "pinion: no leader\n") {
		t.Errorf("%+v", got)
	}
	if waited != time.Minute {
		t.Errorf("waited %s", waited)
	}
}
