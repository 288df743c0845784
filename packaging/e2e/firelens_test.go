package e2e

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// logRouter is the directory of a program that stands for Fluent Bit, which keeps there what it gets.
func (h *host) logRouter(t *testing.T) (dir string, kept func(name string) string) {
	t.Helper()
	dir = h.witness(t)
	build := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(dir, "logrouter"), "./testdata/logrouter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, func(name string) string { text, _ := os.ReadFile(filepath.Join(dir, name)); return string(text) }
}

// runRouted starts a task whose container main runs a script, and whose lines a router gets.
func (h *host) runRouted(t *testing.T, family, dir, script string) (id string) {
	t.Helper()
	h.mustCall(t, "RegisterTaskDefinition", object{
		"family": family, "networkMode": "none", "volumes": []object{{"name": "witness", "host": object{"sourcePath": dir}}},
		"containerDefinitions": []object{
			{"name": "router", "image": "busybox", "memory": 64, "command": []string{"/witness/logrouter", "/witness"}, "firelensConfiguration": object{"type": "fluentbit"},
				"mountPoints": []object{{"sourceVolume": "witness", "containerPath": "/witness"}}},
			{"name": "main", "image": "busybox", "memory": 64, "command": []string{"sh", "-c", script}, "logConfiguration": object{
				"logDriver": "awsfirelens", "options": object{"Name": "http", "Host": "logs.example.com"}, "secretOptions": []object{{"name": "HTTP_Passwd", "valueFrom": "logs"}}}},
		},
	})
	return h.runTask(t, family)
}

// A router gets every line of the containers of its task, over a kill -9 of pinion, and the last ones before it is stopped. The host has them, too. The
// secrets of outputs are in the environment of the router, and nowhere on the host.
func TestALogRouterGetsTheLinesOfATask(t *testing.T) {
	h := newHost(t)
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	secret := rand.Text()
	h.putSecret(t, "logs", secret)
	dir, kept := h.logRouter(t)
	id := h.runRouted(t, "routed", dir, "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i.; [ $((i%100)) = 0 ] && sleep 0.1; done; echo the last line")
	eventually(t, "the first lines", func() bool { return strings.Contains(kept("got"), "line 300.") })
	h.signalAndWait(t, syscall.SIGKILL)
	h.start(t)
	h.waitStopped(t, id)
	got, missing := kept("got"), 0
	for i := range 2000 {
		if !strings.Contains(got, fmt.Sprintf("line %d.", i+1)) {
			missing++
		}
	}
	if missing > 0 || !strings.Contains(got, "the last line") || !strings.Contains(got, "main-firelens-"+id) {
		t.Errorf("the router lacks %d lines of %d bytes, or the last, or the tag", missing, len(got))
	}
	if log := h.log(t, id); strings.Count(log, "line ") != 2000 || !strings.Contains(log, "the router listens") {
		t.Errorf("the host has %d lines", strings.Count(log, "line "))
	}
	if conf := kept("conf"); !strings.Contains(conf, "Match main-firelens*") || !strings.Contains(conf, "ecs_task_definition routed:1") || !strings.Contains(conf, "${HTTP_Passwd_1}") {
		t.Error(conf)
	}
	if kept("secret") != fmt.Sprintf("%x", sha256.Sum256([]byte(secret))) {
		t.Error("the router does not have the secret")
	}
	if found := filesWith(t, h.dir, secret); len(found) != 0 || strings.Contains(h.output.String()+h.pinion(t, "inspect", id), secret) {
		t.Errorf("the secret is on the host: in files %v, or in what it says", found)
	}
}
