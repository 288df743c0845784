package cli

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Two tasks of a cluster with one host: one runs on two GPUs, one has ended badly.
const (
	taskOne  = "3f2a0000000000000000000000000001"
	taskTwo  = "91bc0000000000000000000000000002"
	hostOne  = "aaaa0000000000000000000000000001"
	instance = "arn:aws:ecs:us-east-1:123456789012:container-instance/default/" + hostOne
)

func taskDocument(id, fields string) string {
	return fmt.Sprintf(`{"taskArn":"arn:aws:ecs:us-east-1:123456789012:task/default/%s","taskDefinitionArn":"arn:aws:ecs:us-east-1:123456789012:task-definition/%s}`, id, fields)
}

var (
	runningTask = taskDocument(taskOne, `trainer:3","group":"family:trainer","containerInstanceArn":"`+instance+`","lastStatus":"RUNNING","desiredStatus":"RUNNING",
		"createdAt":1748779020.000,"containers":[{"name":"trainer","lastStatus":"RUNNING","gpuIds":["GPU-1","GPU-2"]}]`)
	failedTask = taskDocument(taskTwo, `run-cuda:1","containerInstanceArn":"`+instance+`","lastStatus":"STOPPED","desiredStatus":"STOPPED",
		"stopCode":"EssentialContainerExited","stoppedReason":"Essential container in task exited","createdAt":1748771999.500,
		"containers":[{"name":"cuda","lastStatus":"STOPPED","exitCode":137,"reason":"OutOfMemoryError: Container killed due to memory usage"}]`)
)

const hostsDocument = `[{"id":"` + hostOne + `","name":"gpu-1","cluster":"default","address":"10.0.0.5:7400","version":"0.1.0","status":"ACTIVE",
	"role":"leader","connected":true,"cpu":16384,"memoryMiB":65536,"tasks":1,"free":{"cpu":15360,"memoryMiB":63488,"gpus":["GPU-3"]},"used":{"gpus":["GPU-1","GPU-2"]},
	"gpus":{"devices":[{"uuid":"GPU-1"},{"uuid":"GPU-2"},{"uuid":"GPU-3"}],"driver":"580.159.03","cuda":"13.0","simulated":true}}]`

const gpusDocument = `[
	{"host":"gpu-1","hostId":"` + hostOne + `","simulated":true,"uuid":"GPU-1","index":0,"model":"NVIDIA H100 80GB HBM3","memoryMiB":81559,"numaNode":0,"health":"HEALTHY","task":"` + taskOne + `","container":"trainer","definition":"trainer:3","team":"vision"},
	{"host":"gpu-1","hostId":"` + hostOne + `","simulated":true,"uuid":"GPU-2","index":1,"model":"NVIDIA H100 80GB HBM3","memoryMiB":81559,"numaNode":0,"health":"HEALTHY","task":"` + taskOne + `","container":"trainer","definition":"trainer:3","team":"vision"},
	{"host":"gpu-1","hostId":"` + hostOne + `","simulated":true,"uuid":"GPU-3","index":2,"model":"NVIDIA GB10","numaNode":-1,"health":"HEALTHY"}]`

// sharedGPUDocument is a GPU that two containers share, one of a team that the caller does not see.
const sharedGPUDocument = `[{"host":"gpu-1","hostId":"` + hostOne + `","uuid":"GPU-1","index":0,"model":"NVIDIA H100 80GB HBM3","memoryMiB":81559,"numaNode":0,"health":"HEALTHY","shares":[
	{"task":"` + taskOne + `","container":"server","definition":"server:3","team":"vision","memoryMiB":10240},{"task":"` + taskTwo + `","memoryMiB":512}]}]`

// withTasks makes the host answer with tasks, which never change.
func (h *fakeHost) withTasks(documents ...string) *fakeHost {
	h.operations["ListTasks"] = func(in map[string]any) any {
		var arns []string
		for _, document := range documents {
			stopped := strings.Contains(document, `"desiredStatus":"STOPPED"`)
			if stopped == (in["desiredStatus"] == "STOPPED") {
				arns = append(arns, arnOf(document))
			}
		}
		return map[string]any{"taskArns": arns}
	}
	h.operations["DescribeTasks"] = func(in map[string]any) any { return describeFrom(documents, in) }
	h.documents["/v1/tasks?cluster=default"] = serveDocument(`{"tasks":[` + strings.Join(documents, ",") + `]}`)
	h.documents["/v1/hosts"] = serveDocument(hostsDocument)
	h.documents["/v1/gpus"] = serveDocument(gpusDocument)
	return h
}

func arnOf(document string) string {
	_, rest, _ := strings.Cut(document, `"taskArn":"`)
	arn, _, _ := strings.Cut(rest, `"`)
	return arn
}

func describeFrom(documents []string, in map[string]any) string {
	var tasks, failures []string
	for _, wanted := range in["tasks"].([]any) {
		at := slices.IndexFunc(documents, func(d string) bool { return strings.HasSuffix(arnOf(d), wanted.(string)) })
		if at < 0 {
			failures = append(failures, fmt.Sprintf(`{"arn":%q,"reason":"MISSING"}`, wanted))
			continue
		}
		tasks = append(tasks, documents[at])
	}
	return `{"tasks":[` + strings.Join(tasks, ",") + `],"failures":[` + strings.Join(failures, ",") + `]}`
}

// logLines writes one log line as JSON for each text; those that begin with "!" are from stderr.
func logLines(w http.ResponseWriter, texts ...string) {
	for i, text := range texts {
		stream := "stdout"
		if rest, found := strings.CutPrefix(text, "!"); found {
			stream, text = "stderr", rest
		}
		fmt.Fprintf(w, `{"time":"2025-06-01T11:59:%02dZ","container":"cuda","stream":%q,"text":%q}`+"\n", i, stream, text)
	}
}
