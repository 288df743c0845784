package cli

import (
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"pinion/api/cli/exit"
	"pinion/api/cli/invocation"
)

// newUnschedulableHost is a host on which a task of `pinion run` is pending, with a shortfall on each host.
func newUnschedulableHost(t *testing.T, shortfall string) *fakeHost {
	t.Helper()
	waiting := taskDocument(taskOne, `run-cuda:4","lastStatus":"PROVISIONING","containers":[]`)
	h := newRunHost(t, waiting, waiting, waiting, waiting, waiting, waiting, pending, exitedTask(0))
	h.documents["/v1/tasks/"+taskOne+"/explain?brief=true"] = serveDocument(`{"taskId":"` + taskOne + `","status":"PROVISIONING","queue":{"taskId":"` + taskOne + `","impossible":` + shortfall + `}}`)
	return h
}

const gpuShortageDocument = `{"hostId":"` + hostOne + `","reason":"RESOURCE:GPU","detail":"needs 9 GPUs, the host has 8"}`

func TestWhatNoHostCouldEverRunFailsAndIsStopped(t *testing.T) {
	for _, line := range []string{"run --gpus 9 nvidia/cuda", "run -d --gpus 9 nvidia/cuda"} {
		h := newUnschedulableHost(t, gpuShortageDocument)
		h.operations["StopTask"] = always("{}")
		got := pinion(t, h, strings.Fields(line)...)
		if got.code != exit.NotStarted || got.out != "" || h.callCount("StopTask") != 1 || !strings.Contains(got.err, "gpu-1: needs 9 GPUs, the host has 8") {
			t.Errorf("%s: stopped %d, %+v", line, h.callCount("StopTask"), got)
		}
	}
}

// Who asked for another thing than hosts have is not told to ask for less of it.
func TestWhatHostsHaveNotIsNoAmount(t *testing.T) {
	h := newUnschedulableHost(t, `{"hostId":"`+hostOne+`","reason":"ATTRIBUTE","detail":"volume volume-1: this host has no directory by the name mydata: write local/mydata"}`)
	h.operations["StopTask"] = always("{}")
	want := "pinion: no host of cluster default could ever run this: gpu-1: volume volume-1: this host has no directory by the name mydata: write local/mydata. Or wait for another host with --wait-for-host\n"
	if got := pinion(t, h, "run", "-d", "-v", "mydata:/w", "nvidia/cuda"); got.code != exit.NotStarted || got.err != want {
		t.Errorf("%+v", got)
	}
}

func TestCoresAreCoresInWhatHostsSay(t *testing.T) {
	h := newUnschedulableHost(t, `{"hostId":"`+hostOne+`","reason":"RESOURCE:CPU","detail":"needs 9216 CPU units, 8192 free"}`)
	h.operations["StopTask"] = always("{}")
	if got := pinion(t, h, "run", "-d", "--cpus", "9", "nvidia/cuda"); !strings.Contains(got.err, "needs 9 cores, 8 free. Ask for less") {
		t.Errorf("%+v", got)
	}
}

func TestWhoWaitsForAHostIsToldSoOnce(t *testing.T) {
	got := pinion(t, newUnschedulableHost(t, gpuShortageDocument), "run", "--wait-for-host", "--gpus", "9", "nvidia/cuda")
	first, rest, _ := strings.Cut(got.err, "\n")
	if got.code != 0 || !strings.Contains(got.out, "epoch 1") || !strings.Contains(first, "the host has 8") || strings.Contains(rest, "pinion why") {
		t.Errorf("%+v", got)
	}
	got = pinion(t, newUnschedulableHost(t, gpuShortageDocument), "run", "-d", "--wait-for-host", "--gpus", "9", "nvidia/cuda")
	checkEqual(t, "detached", got.out, taskOne+"\n")
}

func TestAGangThatIsTooLargeAndAClusterWithoutHostsAreSaidSo(t *testing.T) {
	for shortfall, says := range map[string]string{
		`{"reason":"RESOURCE:GPU","detail":"the 8 tasks of the gang start together, and the hosts together have room for 4 of them at most"}`: "could ever run this: the 8 tasks of the gang start together",
		`{"reason":"MISSING","detail":"the cluster has no host"}`:                                                                             "pinion token --cluster lab",
	} {
		h := newUnschedulableHost(t, shortfall)
		h.operations["StopTask"] = always("{}")
		if got := pinion(t, h, "run", "-d", "--cluster", "lab", "nvidia/cuda"); got.code != exit.NotStarted || !strings.Contains(got.err, says) {
			t.Errorf("%s: %+v", shortfall, got)
		}
	}
}

func TestPsSaysWhichTasksNoHostCouldEverRun(t *testing.T) {
	h := newFakeHost(t).withTasks(taskDocument(taskOne, `run-cuda:4","lastStatus":"PROVISIONING","containers":[]`))
	h.documents["/v1/queue?cluster=default"] = serveDocument(`[{"taskId":"` + taskOne + `","waitsFor":"another host: no host could ever run it","impossible":` + gpuShortageDocument + `}]`)
	if got := pinion(t, h, "ps"); !strings.Contains(got.out, "waits for another host: no host could ever run it") {
		t.Errorf("%+v", got)
	}
}

// What cannot start anywhere leaves nothing behind: no definition, no task.
func TestARunInAClusterWithoutHostsRegistersNothing(t *testing.T) {
	for line, registers := range map[string]bool{"run -d --cluster lab nvidia/cuda": false, "run -d --no-wait --cluster lab nvidia/cuda": false, "run -d --wait-for-host --cluster lab nvidia/cuda": true} {
		h := newUnschedulableHost(t, `{"reason":"MISSING","detail":"the cluster has no host"}`)
		h.operations["DescribeClusters"] = always(`{"clusters":[{"clusterName":"lab","registeredContainerInstancesCount":0}]}`)
		got := pinion(t, h, strings.Fields(line)...)
		if registered := h.callCount("RegisterTaskDefinition") + h.callCount("RunTask"); (registered > 0) != registers || (got.code == exit.NotStarted) == registers {
			t.Errorf("%s: %d calls, %+v", line, registered, got)
		}
		if !registers && (!strings.Contains(got.err, "pinion token --cluster lab") || strings.Contains(got.err, "Ask for less")) {
			t.Errorf("%s: %s", line, got.err)
		}
	}
}

func TestARunInAClusterThatIsNotThereRegistersNothing(t *testing.T) {
	for _, answer := range []any{`{"clusters":[],"failures":[{"reason":"MISSING"}]}`, errorReply{400, "AccessDeniedException", "its key is for other clusters"}} {
		h := newUnschedulableHost(t, gpuShortageDocument)
		h.operations["DescribeClusters"] = always(answer)
		h.operations["ListClusters"] = always(map[string]any{"clusterArns": []string{"arn:aws:ecs:us-east-1:123456789012:cluster/default"}})
		if got := pinion(t, h, "run", "-d", "--cluster", "lba", "nvidia/cuda"); got.code != exit.Failure || h.callCount("RegisterTaskDefinition") != 0 {
			t.Errorf("%v: %+v", answer, got)
		}
	}
}

func TestWithNoWaitNobodyAsksWhy(t *testing.T) {
	h := newUnschedulableHost(t, gpuShortageDocument)
	if got := pinion(t, h, "run", "-d", "--no-wait", "nvidia/cuda"); got.err != "" || h.callCount("/v1/tasks/"+taskOne+"/explain?brief=true") != 0 {
		t.Errorf("%+v", got)
	}
}

// blockExplain makes the host never answer the explanation, and interrupts the run when it is requested.
func blockExplain(h *fakeHost, signals chan<- os.Signal, over <-chan struct{}) {
	h.documents["/v1/tasks/"+taskOne+"/explain?brief=true"] = func(http.ResponseWriter) any {
		signals <- syscall.SIGINT
		<-over
		return map[string]any{}
	}
}

func TestCtrlCStopsTheTaskAlsoWhileTheReasonIsAskedFor(t *testing.T) {
	signals, stopped := make(chan os.Signal, 1), make(chan struct{})
	h := newRunHost(t, pending, exitedTask(137))
	blockExplain(h, signals, stopped)
	h.operations["StopTask"] = func(map[string]any) any { close(stopped); return "{}" }
	got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "run", "nvidia/cuda")
	if got.code != 137 || !strings.HasPrefix(got.err, "stopping task 3f2a00000000 ...") || h.callCount("StopTask") != 1 {
		t.Errorf("StopTask %d times, %+v", h.callCount("StopTask"), got)
	}
}

func TestCtrlCLeavesADetachedTaskAloneAndEndsTheQuestion(t *testing.T) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	h := newRunHost(t, pending)
	blockExplain(h, signals, over)
	got := pinionWith(t, Program{system: invocation.System{Signals: signals}}, h, "run", "-d", "nvidia/cuda")
	close(over)
	if got.code != 0 || got.out != taskOne+"\n" || got.err != "" || h.callCount("StopTask") != 0 {
		t.Errorf("StopTask %d times, %+v", h.callCount("StopTask"), got)
	}
}

func TestADetachedRunSaysThatItsPortIsTaken(t *testing.T) {
	h := newRunHost(t, pending)
	h.documents["/v1/tasks/"+taskOne+"/explain?brief=true"] = serveDocument(`{"taskId":"` + taskOne + `","status":"PROVISIONING","queue":{"place":1}}`)
	h.documents["/v1/tasks/"+taskOne+"/explain"] = serveDocument(`{"taskId":"` + taskOne + `","status":"PROVISIONING","queue":{"place":1},
		"hosts":[{"hostId":"` + hostOne + `","reason":"RESOURCE:PORTS","detail":"host port 8080 is taken"}],"holders":[{"taskId":"` + taskTwo + `"}]}`)
	got := pinion(t, h, "run", "-d", "-p", "8080:80", "nvidia/cuda")
	if got.code != 0 || got.out != taskOne+"\n" || !strings.Contains(got.err, "host port 8080 is taken by task 91bc00000000") {
		t.Errorf("%+v", got)
	}
}

func TestATeamThatLooksMisspeltIsAskedAfter(t *testing.T) {
	h := newRunHost(t, pending)
	h.documents["/v1/tasks/"+taskOne+"/explain?brief=true"] = serveDocument(`{"taskId":"` + taskOne + `","status":"PENDING"}`)
	h.documents["/v1/teams"] = serveDocument(`[{"name":"vision"},{"name":"speech"}]`)
	for team, warned := range map[string]bool{"vison": true, "vision": false, "robotics": false} {
		if got := pinion(t, h, "run", "-d", "--team", team, "nvidia/cuda"); got.code != 0 || strings.Contains(got.err, "vision") != warned {
			t.Errorf("%s: %+v", team, got)
		}
	}
}
