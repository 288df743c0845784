package ecs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/api/ecs/account"
	"pinion/api/wire"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/spec"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// epoch is the time of every test.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC)

const (
	keyID     = "AKIAABCDEFGHIJKLMNOP"
	hostID    = "aaaa0000000000000000000000000001"
	firstTask = "00000000000000000000000000000001" // the first task that a test runs

	invalid   = wire.InvalidParameter
	noCluster = "ClusterNotFoundException"

	oneGPU = `{"family":"tensorflow-1-gpu","cpu":"1024","memory":"6144","placementConstraints":[],"containerDefinitions":[
	{"name":"tensorflow-gpu","image":"brentley/tensorflow-gpu:8904d11","cpu":1024,"resourceRequirements":[{"type":"GPU","value":"1"}]}]}`
)

// fixture carries out operations on a state without Raft and without HTTP. The state has one host with four GPUs.
type fixture struct {
	state        *raftfsm.State
	index        uint64
	placed       int
	asked        spec.RunRequest // the last run
	disconnected map[string]bool
	removals     []string // calls of RemoveHost
}

func newFixture(t testing.TB) *fixture {
	f := &fixture{state: raftfsm.NewState(), disconnected: map[string]bool{}}
	f.mustApply(t, raftfsm.CreatePool{Pool: spec.Pool{ID: strings.Repeat("f", 32), CreatedAt: epoch}})
	f.mustApply(t, raftfsm.PutHost{Host: newHost(hostID, "gpu-1", 4)})
	return f
}

// ready has the definition of one GPU.
func ready(t testing.TB) *fixture {
	f := newFixture(t)
	f.must(t, "RegisterTaskDefinition", oneGPU)
	return f
}

func newHost(id, name string, gpus int) spec.Host {
	host := spec.Host{
		ID: id, Name: name, Cluster: spec.DefaultCluster, Address: name + ":7400", Version: "1.2.3", Status: spec.HostActive,
		Attributes: map[string]string{"ecs.cpu-architecture": "x86_64", "ecs.availability-zone": "rack-1"},
		CPU:        4096, MemoryMiB: 16384, Ports: []int{22, 7400}, RegisteredAt: epoch,
	}
	for i := range gpus {
		host.GPUs.Devices = append(host.GPUs.Devices, gpu.Device{
			UUID: fmt.Sprintf("GPU-%s-%d", name, i), Index: i, Minor: i, Model: "NVIDIA H100 80GB HBM3", MemoryMiB: 81559, Health: gpu.Healthy,
		})
	}
	return host
}

// Propose is as through Raft: what does not survive the encoding is not stored.
func (f *fixture) Propose(_ context.Context, command raftfsm.Command) (any, error) {
	f.index++
	entry, err := raftfsm.Encode(command)
	if err != nil {
		return nil, err
	}
	decoded, err := raftfsm.Decode(entry)
	if err != nil {
		return nil, err
	}
	return f.state.ApplyAt(f.index, epoch, decoded)
}

// Run places one task on the first host of the cluster, which must have room.
func (f *fixture) Run(_ context.Context, r spec.RunRequest) (spec.RunResult, error) {
	view := f.state.View()
	definition := spec.Effective(view.Definition(r.Definition), r.Overrides)
	host, demand := view.Hosts(r.Cluster)[0], spec.DemandOf(definition)
	free := view.Free(host.ID)
	f.placed, f.asked = f.placed+1, r
	task := &spec.Task{
		ID: fmt.Sprintf("%032x", f.placed), Cluster: r.Cluster, Definition: r.Definition, HostID: host.ID, Group: r.Group, LaunchType: r.LaunchType,
		CPU: demand.CPU, MemoryMiB: demand.MemoryMiB, LastStatus: spec.Pending, DesiredStatus: spec.Running, Tags: r.Tags, Version: 1, CreatedAt: epoch,
	}
	for i, c := range definition.Containers {
		task.Containers = append(task.Containers, spec.Container{ID: fmt.Sprintf("%08x", i), Name: c.Name, Image: c.Image, GPUs: free.GPUs[:demand.GPUs[i]], LastStatus: spec.Pending})
	}
	answer, err := f.Propose(context.Background(), raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: r.Cluster, Token: r.ClientToken, TokenHash: r.RequestHash, At: epoch, Tasks: []*spec.Task{task}}}})
	if err != nil {
		return spec.RunResult{}, err
	}
	result := answer.([]raftfsm.LaunchResult)[0]
	return result.Result, result.Err
}

// View is the state as it is.
func (f *fixture) View(context.Context) (*raftfsm.View, error) { return f.state.View(), nil }

// Connected is true of every host that a test has not disconnected.
func (f *fixture) Connected(id string) bool { return !f.disconnected[id] }

// RemoveHost is HostRemover.
func (f *fixture) RemoveHost(ctx context.Context, id string, force bool) error {
	f.removals = append(f.removals, fmt.Sprintf("remove %s %t", id, force))
	_, err := f.Propose(ctx, raftfsm.RemoveHost{ID: id, Force: force})
	return err
}

func (f *fixture) mustApply(t testing.TB, command raftfsm.Command) {
	t.Helper()
	if _, err := f.Propose(t.Context(), command); err != nil {
		t.Fatalf("%T: %v", command, err)
	}
}

// reply is the output of an operation as JSON, or why it was refused.
type reply struct {
	Body *bytes.Buffer
	err  error
}

// call carries out an operation for the account itself, as an AWS client does.
func (f *fixture) call(operation, body string) reply {
	r := &Request{
		Region: "us-east-1", Principal: account.RootARN, MaxCount: 10, View: f.state.View(), Store: f, Hosts: f,
		Now: func() time.Time { return epoch },
	}
	bound, err := Operations[operation].Prepare(r, []byte(body), wire.DecodeJSON)
	if err != nil {
		return reply{err: err}
	}
	output, err := bound.Run(context.Background())
	if err != nil {
		return reply{err: err}
	}
	text, err := wire.Append(nil, output)
	return reply{bytes.NewBuffer(text), err}
}

// must is call for what a test takes for granted.
func (f *fixture) must(t testing.TB, operation, body string) reply {
	t.Helper()
	got := f.call(operation, body)
	if got.err != nil {
		t.Fatalf("%s: %v", operation, got.err)
	}
	return got
}

// runOutput is the part of the output of RunTask that tests look at.
type runOutput struct {
	Tasks []struct {
		Tags []spec.Tag `json:"tags"`
	} `json:"tasks"`
}

func (f *fixture) run(t testing.TB, body string) (output runOutput) {
	t.Helper()
	f.must(t, "RunTask", body).decode(t, &output)
	return output
}

// reportRunning has the host of the task report it RUNNING.
func (f *fixture) reportRunning(t testing.TB, taskID string) {
	t.Helper()
	task := f.state.View().Task(taskID)
	f.mustApply(t, raftfsm.ReportTasks{HostID: task.HostID, Reports: []spec.TaskReport{{
		TaskID: taskID, Status: spec.Running, Containers: []spec.ContainerReport{{Name: task.Containers[0].Name, Status: spec.Running}},
	}}})
}

// reportExited has the host of the task report that its container exited by itself.
func (f *fixture) reportExited(t testing.TB, taskID string, code int) {
	t.Helper()
	task := f.state.View().Task(taskID)
	f.mustApply(t, raftfsm.ReportTasks{HostID: task.HostID, Reports: []spec.TaskReport{{
		TaskID: taskID, Status: spec.Stopped, StopCode: spec.StopEssentialExited, Times: spec.TaskTimes{Stopped: epoch.Add(time.Second)},
		Containers: []spec.ContainerReport{{Name: task.Containers[0].Name, Status: spec.Stopped, ExitCode: &code}},
	}}})
}

// wantError checks the type and the message of a refusal.
func (r reply) wantError(t testing.TB, errorType, message string) {
	t.Helper()
	refusal, ok := errors.AsType[*wire.Error](r.err)
	if !ok || refusal.Type != errorType || refusal.Message != message {
		t.Errorf("got  %v %s\nwant %s: %s", r.err, r.Body, errorType, message)
	}
}

func (r reply) decode(t testing.TB, into any) {
	t.Helper()
	if err := json.Unmarshal(r.Body.Bytes(), into); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
}

// golden compares the output, indented, with testdata/<name>.json.
func (r reply) golden(t testing.TB, name string) {
	t.Helper()
	var text bytes.Buffer
	if err := json.Indent(&text, r.Body.Bytes(), "", "  "); err != nil {
		t.Fatalf("%v in %s", err, r.Body)
	}
	text.WriteByte('\n')
	path := filepath.Join("testdata", name+".json")
	if *rewrite {
		if err := os.WriteFile(path, text.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text.Bytes(), want) {
		t.Errorf("%s is not as it was (go test ./api/ecs -rewrite writes it anew)\ngot:\n%s\nwant:\n%s", path, &text, want)
	}
	if strings.Contains(text.String(), ": null") {
		t.Errorf("%s holds a null: absent members are left out, lists are []", name)
	}
}
