package raftfsm

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"pinion/gpu"
	"pinion/raftfsm/spec"
)

// epoch is when every test begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }

// history is a state and the log that made it. Commands reach it as they do through Raft: encoded and decoded.
type history struct {
	*State
	log [][]byte
}

// newHistory has a pool, the default cluster, host "h1" with four GPUs, and the definitions gpu:1 (one container "main"
// with one GPU) and cpu:1 (one container without).
func newHistory(t tester) *history {
	h := &history{State: NewState()}
	h.do(t, CreatePool{spec.Pool{ID: "pool", CreatedAt: epoch}})
	h.do(t, PutHost{hostWith("h1", 4)})
	h.do(t, RegisterDefinition{Definition: definition("gpu", "1")})
	h.do(t, RegisterDefinition{Definition: definition("cpu", "")})
	return h
}

func (h *history) try(t tester, c Command) (any, error) {
	t.Helper()
	entry, err := Encode(c)
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := Decode(entry)
	if err != nil {
		t.Fatal(err)
	}
	h.log = append(h.log, entry)
	return h.Apply(uint64(len(h.log)), decoded)
}

func (h *history) do(t tester, c Command) any {
	t.Helper()
	answer, err := h.try(t, c)
	if err != nil {
		t.Fatalf("%T: %v", c, err)
	}
	return answer
}

// launch records one run and returns its result.
func (h *history) launch(t tester, run Launch) LaunchResult {
	t.Helper()
	if run.Cluster == "" {
		run.Cluster = spec.DefaultCluster
	}
	return h.do(t, LaunchTasks{[]Launch{run}}).([]LaunchResult)[0]
}

// running launches the task and has its host report it RUNNING.
func (h *history) running(t tester, task *spec.Task) *spec.Task {
	t.Helper()
	if result := h.launch(t, Launch{Tasks: []*spec.Task{task}}); len(result.Result.Tasks) != 1 {
		t.Fatalf("not launched: %s %v", result.Conflict, result.Err)
	}
	h.report(t, task.HostID, spec.TaskReport{TaskID: task.ID, Status: spec.Running, Times: spec.TaskTimes{Started: at(1)}})
	return h.View().Task(task.ID)
}

func (h *history) report(t tester, host string, reports ...spec.TaskReport) []string {
	t.Helper()
	return h.do(t, ReportTasks{HostID: host, Reports: reports}).([]string)
}

func (h *history) snapshot(t tester) []byte { return snapshotOf(t, h.State) }

func snapshotOf(t tester, s *State) []byte {
	t.Helper()
	return snapshotOfView(t, s.View())
}

func snapshotOfView(t tester, v *View) []byte {
	t.Helper()
	var written bytes.Buffer
	if err := v.writeSnapshot(&written); err != nil {
		t.Fatal(err)
	}
	return written.Bytes()
}

// hostWith is a host of the default cluster with 4096 CPU units, 8192 MiB and n GPUs named "<id>-gpu<i>".
func hostWith(id string, n int) spec.Host {
	host := spec.Host{ID: id, Name: id, Cluster: spec.DefaultCluster, Address: id + ":7400", Version: "test",
		CPU: 4096, MemoryMiB: 8192, Ports: []int{22}, Attributes: map[string]string{}, RegisteredAt: epoch}
	for i := range n {
		device := gpu.Device{UUID: fmt.Sprintf("%s-gpu%d", id, i), Index: i, Minor: i, Health: gpu.Healthy}
		host.GPUs.Devices = append(host.GPUs.Devices, device)
	}
	return host
}

// definition has one container "main" of 100 units and 100 MiB, with GPUs when gpus says how many.
func definition(family, gpus string) spec.TaskDefinition {
	main := spec.ContainerDefinition{Name: "main", Image: "busybox", CPU: 100, Memory: 100}
	if gpus != "" {
		main.ResourceRequirements = []spec.ResourceRequirement{{Type: "GPU", Value: gpus}}
	}
	return spec.TaskDefinition{Family: family, Containers: []spec.ContainerDefinition{main}, RegisteredAt: epoch}
}

// task is a placed task of gpu:1 that holds the named GPUs of the host, 100 units and 100 MiB.
func task(id, host string, gpus ...string) *spec.Task {
	return &spec.Task{ID: id, Cluster: spec.DefaultCluster, Definition: "gpu:1", HostID: host, Group: "family:gpu", LaunchType: "EC2",
		CPU: 100, MemoryMiB: 100, LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, CreatedAt: epoch,
		Containers: []spec.Container{{ID: id + "-main", Name: "main", Image: "busybox", GPUs: gpus, LastStatus: spec.Pending}}}
}

func ids(tasks []*spec.Task) []string {
	all := []string{}
	for _, task := range tasks {
		all = append(all, task.ID)
	}
	return all
}

// tester is what the helpers need of testing.TB and of rapid.T.
type tester interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// refuse applies a command that must be refused with the error.
func refuse(t *testing.T, h *history, c Command, want error) {
	t.Helper()
	if _, err := h.try(t, c); !errors.Is(err, want) {
		t.Errorf("%#v: %v, want %v", c, err, want)
	}
}
