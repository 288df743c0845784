package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pinion/api/client"
)

// post sends an operation through the unix socket.
func (h *host) post(t testing.TB, operation, body string) (status int, a document) {
	t.Helper()
	status, raw, err := h.tryPost(operation, body)
	if err != nil {
		t.Fatal(err)
	}
	return status, decode(t, raw)
}

// tryPost is post for hosts that may be gone.
func (h *host) tryPost(operation, body string) (status int, raw string, err error) {
	reply, err := h.api.Send(context.Background(), operation, "application/json", []byte(body))
	if refused, ok := errors.AsType[*client.APIError](err); ok {
		document, err := json.Marshal(map[string]string{"__type": refused.Type, "message": refused.Message})
		return refused.Status, string(document), err
	}
	return http.StatusOK, string(reply.Body), err
}

// mustCall is post for requests that have to succeed.
func (h *host) mustCall(t testing.TB, operation string, body any) document {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	status, a := h.post(t, operation, string(raw))
	if status != 200 {
		t.Fatalf("%s %s: %d %v", operation, raw, status, a)
	}
	return a
}

type object = map[string]any

// registerShell registers a family whose one container runs a shell script in busybox on n GPUs.
func (h *host) registerShell(t testing.TB, family string, gpus int, script string, more ...object) {
	t.Helper()
	container := object{"name": "main", "image": "busybox", "memory": 64, "command": []string{"sh", "-c", script}, "stopTimeout": 2}
	if gpus > 0 {
		container["resourceRequirements"] = []object{{"type": "GPU", "value": itoa(gpus)}}
	}
	definition := object{"family": family, "networkMode": "none"}
	for _, m := range more {
		for k, v := range m {
			if slices.Contains([]string{"volumes", "networkMode", "pidMode", "ipcMode"}, k) {
				definition[k] = v
			} else {
				container[k] = v
			}
		}
	}
	definition["containerDefinitions"] = []object{container}
	h.mustCall(t, "RegisterTaskDefinition", definition)
}

// runTask starts one task of the family and returns its id.
func (h *host) runTask(t testing.TB, family string) string {
	t.Helper()
	a := h.mustCall(t, "RunTask", object{"taskDefinition": family})
	if len(a.list("failures")) > 0 {
		t.Fatalf("RunTask %s: %v", family, a)
	}
	return taskID(a)
}

func (h *host) describe(t testing.TB, id string) document {
	t.Helper()
	a := h.mustCall(t, "DescribeTasks", object{"tasks": []string{id}})
	task, ok := a.at("tasks", 0).(map[string]any)
	if !ok {
		t.Fatalf("task %s: %v", id, a)
	}
	return task
}

func (h *host) waitStatus(t testing.TB, id, status string) document {
	t.Helper()
	var task document
	eventually(t, "task "+id+" is "+status, func() bool {
		task = h.describe(t, id)
		if task.text("lastStatus") == "STOPPED" && status != "STOPPED" {
			t.Fatalf("task %s stopped: %v", id, task)
		}
		return task.text("lastStatus") == status
	})
	return task
}

func (h *host) waitStopped(t testing.TB, id string) document {
	t.Helper()
	return h.waitStatus(t, id, "STOPPED")
}

func (h *host) stop(t testing.TB, ids ...string) {
	t.Helper()
	for _, id := range ids {
		h.mustCall(t, "StopTask", object{"task": id})
	}
	for _, id := range ids {
		h.waitStopped(t, id)
	}
}

// log is what the task has written so far, both streams.
func (h *host) log(t testing.TB, id string) string {
	t.Helper()
	return h.pinion(t, "logs", id)
}

// waitLog waits until the task's log has the text.
func (h *host) waitLog(t testing.TB, id, text string) string {
	t.Helper()
	var log string
	eventually(t, "the log of "+id+" has "+text, func() bool {
		log = h.log(t, id)
		return strings.Contains(log, text)
	})
	return log
}

// taskID is the id of the first task of a RunTask answer.
func taskID(a document) string {
	arn := a.text("tasks", 0, "taskArn")
	return arn[strings.LastIndex(arn, "/")+1:]
}

func readDocument(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(documentsDir(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
