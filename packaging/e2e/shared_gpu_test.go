package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// shareScript prints what a container has of NVIDIA's Multi-Process Service, and counts.
const shareScript = `trap 'exit 0' TERM; env | grep ^CUDA_MPS; cd /run/pinion/mps; [ -S control ] && echo socket=there; [ -f control_privileged ] && echo privileged=$(wc -c < control_privileged); touch x 2>&1 | grep -o 'Read-only'; echo end; i=0; while :; do echo n=$i; i=$((i+1)); usleep 100000; done`

// sharedGPU is the GPU of a host that has one, which tasks share.
type sharedGPU struct {
	*host
	uuid string
}

func shareOf(mib int) object {
	return object{"resourceRequirements": []object{{"type": "GPU", "sharingStrategy": object{"nvidiaMps": object{"memory": mib, "maxComputePercent": 40}}}}}
}

func startSharedGPU(t *testing.T) sharedGPU {
	h := newHost(t, "--gpus", "sim:1xh100,mps")
	h.registry = startDockerHub(t)
	t.Cleanup(func() { h.down(t) })
	must(t, os.Chmod(h.dir, 0o711)) // as pinion makes it: user namespaces need it
	h.start(t)
	h.registerShell(t, "shares", 0, shareScript, shareOf(4096), object{"environment": []object{{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=80G"}}})
	h.registerShell(t, "owns", 1, "trap 'exit 0' TERM; echo end; while :; do sleep 0.1; done")
	return sharedGPU{host: h}
}

// run runs a task that shares the GPU, and returns what it has of MPS.
func (g *sharedGPU) run(t *testing.T) (id, log string) {
	t.Helper()
	id = g.runTask(t, "shares")
	log = g.waitLog(t, id, "\nend")
	g.uuid = g.describe(t, id).text("containers", 0, "gpuIds", 0)
	return id, log
}

// daemon is the process id of the GPU's control daemon.
func (g *sharedGPU) daemon(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, "sim", "mps", g.uuid, "pipe", "nvidia-cuda-mps-control.pid"))
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(t, err)
	return pid
}

func (g *sharedGPU) exclusive(t *testing.T) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(g.dir, "sim", "compute-mode", g.uuid))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// runs reports whether a process runs; of one that has ended and was not waited for there is no command line any more.
func runs(pid int) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && len(line) > 0
}

// wantGivenBack checks that the GPU is one as any other, and its daemon is gone.
func (g *sharedGPU) wantGivenBack(t *testing.T, daemon int) {
	t.Helper()
	if runs(daemon) {
		t.Errorf("the control daemon, process %d, runs on", daemon)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "sim", "mps", g.uuid)); !errors.Is(err, os.ErrNotExist) || g.exclusive(t) {
		t.Errorf("the directory of the GPU: %v; exclusive: %t", err, g.exclusive(t))
	}
}

// A container has the clients' pipe of its GPU's daemon and its limits, and nothing to change them by, in a user namespace too. The daemon is
// there as long as tasks share the GPU, whatever becomes of pinion.
func TestTasksShareAGPUThroughItsDaemon(t *testing.T) {
	g := startSharedGPU(t)
	first, log := g.run(t)
	g.mustCall(t, "UpdateClusterSettings", object{"cluster": "default", "settings": []object{{"name": "userNamespaces", "value": "enabled"}}})
	second, logInside := g.run(t)
	for _, want := range []string{
		"CUDA_MPS_PIPE_DIRECTORY=/run/pinion/mps", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=40",
		"socket=there", "privileged=0", "Read-only",
	} {
		for _, log := range []string{log, logInside} {
			if !strings.Contains(log, want+"\n") {
				t.Errorf("a container does not have %s:\n%s", want, log)
			}
		}
	}
	daemon := g.daemon(t)
	if !g.exclusive(t) {
		t.Error("a container could go around the daemon: the compute mode of the GPU is not EXCLUSIVE_PROCESS")
	}
	before := map[string]document{first: g.waitStatus(t, first, "RUNNING"), second: g.waitStatus(t, second, "RUNNING")}
	g.signalAndWait(t, syscall.SIGKILL)
	g.start(t)
	g.checkUnchanged(t, before)
	g.stop(t, first)
	if again := g.daemon(t); again != daemon || !runs(daemon) {
		t.Errorf("the daemon was process %d, and is %d", daemon, again)
	}
	if a := g.mustCall(t, "RunTask", object{"taskDefinition": "owns"}); !strings.Contains(fmt.Sprint(a["failures"]), "RESOURCE:GPU") {
		t.Errorf("a task that wants a GPU which others share: %v", a)
	}
	g.stop(t, second)
	g.wantGivenBack(t, daemon)
	owner := g.runTask(t, "owns")
	g.waitLog(t, owner, "end")
	g.stop(t, owner)
}

func TestADaemonThatEndsTakesTheContainersOfItsGPUWithIt(t *testing.T) {
	g := startSharedGPU(t)
	first, _ := g.run(t)
	second, _ := g.run(t)
	daemon := g.daemon(t)
	must(t, syscall.Kill(daemon, syscall.SIGKILL))
	for _, id := range []string{first, second} {
		if task := g.waitStopped(t, id); !strings.HasPrefix(task.text("stoppedReason"), "GPUSharingError: ") {
			t.Errorf("task %s: %v", id, task)
		}
	}
	g.wantGivenBack(t, daemon)

	id, _ := g.run(t)
	daemon = g.daemon(t)
	g.signalAndWait(t, syscall.SIGKILL)
	must(t, syscall.Kill(daemon, syscall.SIGKILL)) // while nobody watches it
	g.start(t)
	if task := g.waitStopped(t, id); !strings.HasPrefix(task.text("stoppedReason"), "GPUSharingError: ") {
		t.Errorf("task %s: %v", id, task)
	}
	g.wantGivenBack(t, daemon)

	id, _ = g.run(t)
	daemon = g.daemon(t)
	g.waitStatus(t, id, "RUNNING")
	if out, err := output(pinionDown(g.dir)); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	g.wantGivenBack(t, daemon)
}

// Neither volumes over the pipes nor what the task sets in its run change what it gets.
func TestATaskPutsNothingInThePlaceOfItsDaemon(t *testing.T) {
	g := startSharedGPU(t)
	g.registerShell(t, "attacks", 0, shareScript, shareOf(4096),
		object{"volumes": []object{{"name": "a", "host": object{"sourcePath": "local/a"}}, {"name": "b", "host": object{"sourcePath": "local/b"}}}},
		object{"mountPoints": []object{{"sourceVolume": "a", "containerPath": "/run/pinion/mps"}, {"sourceVolume": "b", "containerPath": "/run"}}},
		object{"linuxParameters": object{"tmpfs": []object{{"containerPath": "/run/pinion", "size": 1}}}})
	lifted := []object{{"name": "main", "environment": []object{{"name": "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "value": "0=80G"}, {"name": "CUDA_MPS_PIPE_DIRECTORY", "value": "/tmp"}}}}
	run := g.mustCall(t, "RunTask", object{"taskDefinition": "attacks", "overrides": object{"containerOverrides": lifted}})
	if len(run.list("failures")) > 0 {
		t.Fatal(run)
	}
	log := g.waitLog(t, taskID(run), "\nend")
	for _, want := range []string{"CUDA_MPS_PIPE_DIRECTORY=/run/pinion/mps", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=4096M", "socket=there", "privileged=0", "Read-only"} {
		if !strings.Contains(log, want+"\n") {
			t.Errorf("the container does not have %s:\n%s", want, log)
		}
	}
}
