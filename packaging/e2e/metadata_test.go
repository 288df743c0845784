package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// ask is what a container is told at an address that begins with one of its variables.
func (h *host) ask(t testing.TB, id, address string) document {
	t.Helper()
	return decode(t, h.pinion(t, "exec", id, "--", "sh", "-c", "wget -qO- "+address))
}

// request is the status line and the body of a request that a container makes at the endpoint.
func (h *host) request(t testing.TB, id, method, path, body string) (status, text string) {
	t.Helper()
	raw := fmt.Sprintf(`printf '%s %s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%%s' '%s' | nc 169.254.170.2 51679`, method, path, len(body), body)
	out := h.pinion(t, "exec", id, "--", "sh", "-c", strings.ReplaceAll(raw, "$ID", `'"${ECS_AGENT_URI##*/}"'`))
	head, text, _ := strings.Cut(out, "\r\n\r\n")
	_, status, _ = strings.Cut(strings.SplitN(head, "\r\n", 2)[0], " ")
	return status, text
}

// runBridged starts a task that runs until it is stopped, in a network mode.
func (h *host) runBridged(t testing.TB, family, mode string, more ...object) string {
	t.Helper()
	h.registerShell(t, family, 1, "trap exit TERM; sleep 3600 & wait", append(more, object{"networkMode": mode})...)
	id := lastPart(h.mustCall(t, "RunTask", object{"taskDefinition": family, "tags": []object{{"key": "team", "value": "vision"}}}).text("tasks", 0, "taskArn"))
	t.Cleanup(func() { h.pinion(t, "stop", "--force", id) })
	h.waitStatus(t, id, "RUNNING")
	return id
}

func TestAContainerIsToldOfItsTask(t *testing.T) {
	h := sharedHost(t)
	for _, mode := range []string{"bridge", "host"} {
		t.Run(mode, func(t *testing.T) {
			id := h.runBridged(t, "metadata-"+mode, mode)
			h.wantMetadata(t, id, mode)
			other := h.runBridged(t, "metadata-other", mode)
			h.wantMetadata(t, other, mode)
			h.pinion(t, "stop", "--force", other)
			h.wantMetadata(t, id, mode)
		})
	}
	t.Run("none", func(t *testing.T) {
		id := h.runBridged(t, "metadata-none", "none")
		if env := h.pinion(t, "exec", id, "--", "env"); strings.Contains(env, "ECS_") {
			t.Errorf("without a network it is told where it could ask: %s", env)
		}
	})
	eventually(t, "the host has its address no more", func() bool {
		addresses, err := os.ReadFile("/proc/net/fib_trie")
		return err == nil && !strings.Contains(string(addresses), "169.254.170.2")
	})
}

// wantMetadata checks the documents of a task of one container.
func (h *host) wantMetadata(t *testing.T, id, mode string) {
	t.Helper()
	described := h.describe(t, id)
	container := h.ask(t, id, "$ECS_CONTAINER_METADATA_URI_V4")
	for member, want := range map[string]string{
		"Name": "main", "Image": "busybox", "KnownStatus": "RUNNING", "DesiredStatus": "RUNNING", "ContainerARN": described.text("containers", 0, "containerArn"),
		"DockerId": described.text("containers", 0, "runtimeId"), "ImageID": described.text("containers", 0, "imageDigest"), "Type": "NORMAL",
	} {
		if got := container.text(member); got != want {
			t.Errorf("%s of the container is %q, want %q", member, got, want)
		}
	}
	if got := container.text("Networks", 0, "NetworkMode"); got != mode {
		t.Errorf("its network is %q", got)
	}
	if got, want := container.text("GpuIds", 0), described.text("containers", 0, "gpuIds", 0); got != want || want == "" {
		t.Errorf("its GPU is %q, want %q", got, want)
	}
	if got := container.text("Labels", "com.amazonaws.ecs.task-arn"); got != described.text("taskArn") {
		t.Errorf("the label has the task %q", got)
	}
	task := h.ask(t, id, "$ECS_CONTAINER_METADATA_URI_V4/taskWithTags")
	if task.text("TaskARN") != described.text("taskArn") || task.text("Cluster") != described.text("clusterArn") || task.text("KnownStatus") != "RUNNING" || len(task.list("Containers")) != 1 || task.text("TaskTags", "team") != "vision" {
		t.Errorf("its task: %v", task)
	}
	h.mustCall(t, "TagResource", object{"resourceArn": described.text("containerInstanceArn"), "tags": []object{{"key": "rack", "value": "seven"}}})
	h.mustCall(t, "TagResource", object{"resourceArn": described.text("taskArn"), "tags": []object{{"key": "stage", "value": "two"}}})
	eventually(t, "its containers are told of the new tag", func() bool {
		tags := h.ask(t, id, "$ECS_CONTAINER_METADATA_URI_V4/taskWithTags")
		return tags.text("TaskTags", "stage") == "two" && tags.text("TaskTags", "team") == "vision" && tags.text("ContainerInstanceTags", "rack") == "seven"
	})
	for _, address := range []string{"$ECS_CONTAINER_METADATA_URI_V4/stats", "$ECS_CONTAINER_METADATA_URI/stats"} {
		stats := h.ask(t, id, address)
		used, _ := stats.at("cpu_stats", "cpu_usage", "total_usage").(float64)
		memory, _ := stats.at("memory_stats", "usage").(float64)
		if before, _ := stats.at("precpu_stats", "system_cpu_usage").(float64); used <= 0 || memory <= 0 || before <= 0 {
			t.Errorf("its statistics: %v", stats)
		}
		if _, has := stats.at("networks", "eth0").(map[string]any); has != (mode == "bridge") {
			t.Errorf("its interfaces: %v", stats.at("networks"))
		}
	}
	if all := h.ask(t, id, "$ECS_CONTAINER_METADATA_URI_V4/task/stats"); all.at(container.text("DockerId"), "read") == nil {
		t.Errorf("statistics of the task: %v", all)
	}
}

func TestAContainerIsToldOfNoOtherOne(t *testing.T) {
	h := sharedHost(t)
	one, other := h.runBridged(t, "metadata-one", "bridge"), h.runBridged(t, "metadata-two", "bridge")
	address := strings.TrimSpace(h.pinion(t, "exec", other, "--", "sh", "-c", "echo $ECS_CONTAINER_METADATA_URI_V4"))
	for path, want := range map[string]string{
		strings.TrimPrefix(address, "http://169.254.170.2:51679"): "404", "/v4/": "404", "/v4/$ID/../..": "307", "/v4/" + strings.Repeat("0", 32): "404", "/v4/$ID/task": "200", "/": "404",
		"/v4/" + strings.Repeat("x", 20000): "431", "/v2/credentials/$ID": "404",
	} {
		if status, text := h.request(t, one, "GET", path, ""); !strings.HasPrefix(status, want) || want != "200" && strings.Contains(text, other) {
			t.Errorf("GET %.80s: %s %.200s", path, status, text)
		}
	}
	if status, _ := h.request(t, one, "GET", "/v4/$ID/task", ""); !strings.HasPrefix(status, "200") {
		t.Errorf("then: %s", status)
	}
	// Neither the host nor another container reaches the address of one.
	if answer, _ := h.sh(t, "curl -sS -m 2 --noproxy '*' "+address); strings.Contains(answer, other) {
		t.Errorf("the host is told %s", answer)
	}
}

func TestTheEndpointIsThereWhenPiniosRestarts(t *testing.T) {
	h := newHost(t, "--gpus", "sim:1xh100")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	bridged := h.runBridged(t, "metadata", "bridge")
	before := h.ask(t, bridged, "$ECS_CONTAINER_METADATA_URI_V4")
	h.signalAndWait(t, unix.SIGKILL)
	h.start(t)
	eventually(t, "it answers again", func() bool {
		out, err := h.tryPinion("exec", bridged, "--", "sh", "-c", "wget -qO- $ECS_CONTAINER_METADATA_URI_V4")
		return err == nil && decode(t, out).text("ContainerARN") == before.text("ContainerARN")
	})
}

// Programs listen at every address of port 80, which no endpoint may take from them.
func TestATaskServesPort80BesideItsEndpoint(t *testing.T) {
	h := sharedHost(t)
	for _, mode := range []string{"bridge", "host"} {
		h.registerShell(t, "port-80", 0, "exec httpd -f -v -p 80", object{"networkMode": mode})
		id := lastPart(h.mustCall(t, "RunTask", object{"taskDefinition": "port-80"}).text("tasks", 0, "taskArn"))
		h.waitStatus(t, id, "RUNNING")
		eventually(t, "it serves in "+mode, func() bool {
			out, err := h.tryPinion("exec", id, "--", "sh", "-c", "wget -qO- http://127.0.0.1/none 2>&1; wget -qO- $ECS_CONTAINER_METADATA_URI_V4")
			return err == nil && strings.Contains(out, "404 Not Found") && strings.Contains(out, id)
		})
		h.pinion(t, "stop", "--force", id)
	}
}

func TestATaskProtectsItself(t *testing.T) {
	h := sharedHost(t)
	alone := h.runBridged(t, "unprotected", "bridge")
	if status, text := h.request(t, alone, "PUT", "/api/$ID/task-protection/v1/state", `{"ProtectionEnabled":true}`); !strings.HasPrefix(status, "200") || decode(t, text).text("failure", "Reason") != "TASK_NOT_VALID" {
		t.Errorf("a task of no service: %s %s", status, text)
	}
	h.registerShell(t, "protected", 0, "trap exit TERM; sleep 3600 & wait", object{"networkMode": "bridge"})
	h.mustCall(t, "CreateService", object{"serviceName": "protected", "taskDefinition": "protected", "desiredCount": 1, "enableExecuteCommand": true})
	t.Cleanup(func() { h.mustCall(t, "DeleteService", object{"service": "protected", "force": true}) })
	id := ""
	eventually(t, "its task runs", func() bool {
		arns := h.mustCall(t, "ListTasks", object{"serviceName": "protected"}).list("taskArns")
		if len(arns) == 1 {
			id = lastPart(arns[0].(string))
		}
		return id != "" && h.describe(t, id).text("lastStatus") == "RUNNING"
	})
	const path = "/api/$ID/task-protection/v1/state"
	for _, c := range []struct {
		method, body, status string
		protected            bool
	}{
		{"GET", "", "200", false},
		{"PUT", `{"ProtectionEnabled":true,"ExpiresInMinutes":60}`, "200", true},
		{"GET", "", "200", true},
		{"PUT", `{"ProtectionEnabled":true,"ExpiresInMinutes":2881}`, "400", false},
		{"PUT", `{"ProtectionEnabled":true,"Minutes":1}`, "400", false},
		{"PUT", `{}`, "400", false},
		{"PUT", `[`, "400", false},
		{"DELETE", "", "404", false},
		{"PUT", `{"ProtectionEnabled":false}`, "200", false},
		{"GET", "", "200", false},
	} {
		status, text := h.request(t, id, c.method, path, c.body)
		if !strings.HasPrefix(status, c.status) || c.status == "200" && decode(t, text).at("protection", "ProtectionEnabled") != c.protected {
			t.Errorf("%s %s: %s %s", c.method, c.body, status, text)
		}
		if c.status == "200" && c.protected {
			got := h.mustCall(t, "GetTaskProtection", object{"cluster": "default", "tasks": []string{id}})
			if got.at("protectedTasks", 0, "protectionEnabled") != true {
				t.Errorf("the pool has %v", got)
			}
		}
	}
}
