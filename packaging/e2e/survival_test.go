package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// countScript writes a number every 100 ms: a hole in the log or a restart of the container shows as a gap in them. It ends
// with exit code 7 when it finds the file /w/end.
const countScript = `i=0; while [ ! -e /w/end ]; do echo n=$i; i=$((i+1)); usleep 100000; done; exit 7`

// TestTasksSurviveTheDeathOfPinionAndOfContainerd kills -9 first Pinion, then its containerd, under ten tasks.
func TestTasksSurviveTheDeathOfPinionAndOfContainerd(t *testing.T) {
	hub := startDockerHub(t)
	h := newHost(t, "--gpus", "sim:8xh100")
	h.registry = hub
	t.Cleanup(func() { h.down(t) })
	h.start(t)
	witness := h.witness(t)
	volume := object{"volumes": []object{{"name": "w", "host": object{"sourcePath": witness}}}, "mountPoints": []object{{"sourceVolume": "w", "containerPath": "/w"}}}
	h.registerShell(t, "count-gpu", 1, countScript, volume)
	h.registerShell(t, "count", 0, countScript, volume)

	before := map[string]document{}
	for i := range 10 {
		family := "count-gpu"
		if i >= 8 {
			family = "count"
		}
		before[h.runTask(t, family)] = nil
	}
	for id := range before {
		before[id] = h.waitStatus(t, id, "RUNNING")
		h.waitLog(t, id, "n=3")
	}

	h.signalAndWait(t, syscall.SIGKILL)
	h.start(t)
	h.checkUnchanged(t, before)

	pid := containerdPID(t, h)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "containerd runs again", func() bool { p, err := readPID(h); return err == nil && p != pid })
	h.checkUnchanged(t, before)

	// What ends while Pinion is away is reported with its exit code when it is back.
	h.signalAndWait(t, syscall.SIGKILL)
	if err := os.WriteFile(filepath.Join(witness, "end"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(t)
	for id := range before {
		task := h.waitStopped(t, id)
		if task.at("containers", 0, "exitCode") != 7.0 || task.text("startedAt") != before[id].text("startedAt") {
			t.Errorf("task %s ended as %v", id, task)
		}
		checkNoGap(t, h.log(t, id))
	}
}

// checkUnchanged checks that every task is the same running container, and that its log goes on.
func (h *host) checkUnchanged(t *testing.T, before map[string]document) {
	t.Helper()
	for id, was := range before {
		is := h.waitStatus(t, id, "RUNNING")
		for _, field := range []string{"runtimeId", "containerArn"} {
			if a, b := is.text("containers", 0, field), was.text("containers", 0, field); a != b || a == "" {
				t.Errorf("task %s: %s was %q, is %q", id, field, b, a)
			}
		}
		if is.at("startedAt") != was.at("startedAt") {
			t.Errorf("task %s: started at %v, then at %v", id, was.at("startedAt"), is.at("startedAt"))
		}
		written := len(valuesAfter(h.log(t, id), "n="))
		eventually(t, "the log of "+id+" goes on", func() bool { return len(valuesAfter(h.log(t, id), "n=")) > written })
	}
}

func checkNoGap(t *testing.T, log string) {
	t.Helper()
	for i, n := range valuesAfter(log, "n=") {
		if n != strconv.Itoa(i) {
			t.Errorf("line %d of the log is n=%s", i, n)
			return
		}
	}
}

func containerdPID(t *testing.T, h *host) int {
	t.Helper()
	pid, err := readPID(h)
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func readPID(h *host) (int, error) {
	raw, err := os.ReadFile(filepath.Join(h.dir, "containerd", "containerd.pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(raw)))
}

// TestTheStateSurvivesKill9AtAnyTime kills Pinion while definitions are registered as fast as it answers; what it
// acknowledged must be there afterwards.
func TestTheStateSurvivesKill9AtAnyTime(t *testing.T) {
	h := up(t, "--gpus", "none")
	acknowledged := map[string]bool{}
	for pass := range 5 {
		died := make(chan struct{})
		for n := 0; ; n++ {
			if n == 3+7*pass { // from here on the kill races with the requests
				go func() {
					defer close(died)
					h.cmd.Process.Signal(syscall.SIGKILL)
					<-h.exited
				}()
			}
			status, raw, err := h.tryPost("RegisterTaskDefinition", `{"family":"many","containerDefinitions":[{"name":"c","image":"pinion/self","memory":10}]}`)
			if err != nil {
				break
			}
			if status == 200 {
				acknowledged[decode(t, raw).text("taskDefinition", "taskDefinitionArn")] = true
			}
		}
		if !closesInTime(t, died) {
			t.Fatalf("a request failed before the kill, or pinion outlived it\n%s", h.output)
		}
		h.start(t)
		there := h.definitions(t, "many")
		for arn := range acknowledged {
			if !there[arn] {
				t.Fatalf("%s was acknowledged and is lost; %d of %d are there", arn, len(there), len(acknowledged))
			}
		}
	}
}

// closesInTime waits for a channel to be closed.
func closesInTime(t *testing.T, closed <-chan struct{}) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	select {
	case <-closed:
		return true
	case <-ctx.Done():
		return false
	}
}

// definitions are the ARNs of a family's revisions, from all pages.
func (h *host) definitions(t *testing.T, family string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	in := object{"familyPrefix": family}
	for {
		page := h.mustCall(t, "ListTaskDefinitions", in)
		for _, arn := range asStrings(page.list("taskDefinitionArns")) {
			all[arn] = true
		}
		if in["nextToken"] = page.text("nextToken"); in["nextToken"] == "" {
			return all
		}
	}
}
