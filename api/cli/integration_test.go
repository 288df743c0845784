package cli

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pinion/api"
	"pinion/api/rest"
	"pinion/gpu"
	"pinion/raftfsm"
	"pinion/raftfsm/execcommand"
	"pinion/raftfsm/spec"
)

// apiHost is a cluster of one host behind the real API: its state is real, only Raft and the agent are missing.
// A task has run to its end as soon as it is placed.
type apiHost struct {
	state *raftfsm.State
	index uint64
}

var (
	_ api.Store     = (*apiHost)(nil)
	_ rest.TaskHost = (*apiHost)(nil)
)

func (l *apiHost) View(context.Context) (*raftfsm.View, error) { return l.state.View(), nil }
func (l *apiHost) Connected(string) bool                       { return true }
func (l *apiHost) Pulls(string) []spec.Pull                    { return nil }

func (l *apiHost) Exec(context.Context, execcommand.Request) (int, error) {
	return 0, spec.ErrNotFound
}

func (l *apiHost) Propose(_ context.Context, c raftfsm.Command) (any, error) {
	l.index++
	return l.state.Apply(l.index, c)
}

func (l *apiHost) Logs(_ context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
	return emit(spec.LogLine{Time: testTime, Container: "self", Stream: "stdout", Text: "hello from " + q.Task})
}

func (l *apiHost) Run(ctx context.Context, r spec.RunRequest) (spec.RunResult, error) {
	view := l.state.View()
	demand := spec.DemandOf(view.Definition(r.Definition))
	free := view.Free(hostOne)
	if lack, fits := spec.Fits(&free, &demand); !fits {
		return spec.RunResult{Failures: []spec.Failure{{HostID: hostOne, Reason: lack.Reason, Detail: lack.Detail()}}}, nil
	}
	code := 7
	task := &spec.Task{
		ID: taskOne, Cluster: r.Cluster, Definition: r.Definition, HostID: hostOne, Group: r.Group, LaunchType: "EC2", StartedBy: r.StartedBy,
		LastStatus: spec.Pending, DesiredStatus: spec.Running, Version: 1, CreatedAt: testTime, Overrides: spec.Box(r.Overrides),
		Containers: []spec.Container{{ID: "c", Name: "self", Image: "pinion/self", GPUs: free.GPUs[:demand.GPUs[0]], LastStatus: spec.Pending}},
	}
	result := spec.RunResult{Tasks: []*spec.Task{task}}
	if _, err := l.Propose(ctx, raftfsm.LaunchTasks{Runs: []raftfsm.Launch{{Cluster: r.Cluster, Tasks: result.Tasks, At: testTime}}}); err != nil {
		return spec.RunResult{}, err
	}
	_, err := l.Propose(ctx, raftfsm.ReportTasks{HostID: hostOne, Reports: []spec.TaskReport{{
		TaskID: taskOne, Status: spec.Stopped, StopCode: spec.StopEssentialExited, StoppedReason: "Essential container in task exited",
		Containers: []spec.ContainerReport{{Name: "self", Status: spec.Stopped, ExitCode: &code}},
	}}})
	return result, err
}

// newAPIHost serves a lab on a socket, and gives its state.
func newAPIHost(t *testing.T) (*fakeHost, *raftfsm.State) {
	t.Helper()
	l := &apiHost{state: raftfsm.NewState()}
	host := spec.Host{ID: hostOne, Name: "gpu-1", Cluster: "default", Address: "10.0.0.5:7400", Version: "0.1.0", Status: spec.HostActive, CPU: 4096, MemoryMiB: 8192,
		GPUs: gpu.Inventory{Simulated: true, Devices: []gpu.Device{{UUID: "GPU-1", Model: "H100", MemoryMiB: 81920, Health: gpu.Healthy}}}}
	for _, command := range []raftfsm.Command{raftfsm.CreatePool{Pool: spec.Pool{ID: hostOne, CreatedAt: testTime}}, raftfsm.PutHost{Host: host}} {
		if _, err := l.Propose(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	h := &fakeHost{dir: shortDir(t)}
	socket, err := net.Listen("unix", filepath.Join(h.dir, "pinion.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: api.NewHandler(api.Config{Store: l, Agent: rest.Agent{Tasks: l}, Admin: rest.Admin{Secrets: plainSealer{}}, Trusted: true, Version: "0.1.0", Log: slog.New(slog.NewTextHandler(io.Discard, nil))})}
	go server.Serve(socket)
	t.Cleanup(func() { server.Close() })
	return h, l.state
}

func TestTheAPIServesEveryCommand(t *testing.T) {
	h, _ := newAPIHost(t)
	got := pinion(t, h, "run", "--gpus", "1", "--cpus", "2", "--shm-size", "1g", "--volume", "/data:/data:ro", "--env", "A=1", "--network", "host", "pinion/self", "--", "true")
	if got.code != 7 || got.out != "hello from "+taskOne+"\n" {
		t.Fatalf("run: %+v", got)
	}
	for line, says := range map[string]string{
		"ps -a":                      "3f2a00000000  run-self:1  STOPPED  1     gpu-1",
		"logs 3f2a":                  "hello from " + taskOne,
		"inspect 3f2a":               `"exitCode": 7`,
		"stop 3f2a":                  taskOne,
		"hosts":                      "gpu-1  aaaa00000000  default  -     ACTIVE  OK      4/4       8/8 GiB      1/1 SIM    0",
		"gpus":                       "gpu-1  0    SIM H100  80 GiB  0     HEALTHY  -",
		"gpus -o json":               `"uuid": "GPU-1"`,
		"version":                    "host   0.1.0",
		"register -f " + yamlFile(t): "app:1",
	} {
		if got := pinion(t, h, strings.Fields(line)...); got.code != 0 || !strings.Contains(got.out, says) {
			t.Errorf("pinion %s: want %q in %+v", line, says, got)
		}
	}
	for _, line := range [][2]string{{"drain gpu-1", "gpu-1 is drained"}, {"hosts", "DRAINED"}, {"activate aaaa", "gpu-1 is active"}, {"hosts", "ACTIVE"}, {"token ls", "EXPIRES"}} {
		if got := pinion(t, h, strings.Fields(line[0])...); got.code != 0 || !strings.Contains(got.out, line[1]) {
			t.Errorf("pinion %s: want %q in %+v", line[0], line[1], got)
		}
	}
	if got := pinion(t, h, "run", "--gpus", "2", "pinion/self"); got.code != 125 || !strings.Contains(got.err, "RESOURCE:GPU: no host has 2 GPUs free: gpu-1 has 1 of 1 free") {
		t.Errorf("more GPUs than there are: %+v", got)
	}
}

// yamlFile is document 4's form of a definition, in a file.
func yamlFile(t *testing.T) string {
	file := filepath.Join(t.TempDir(), "app.yaml")
	document := "version: \"1.3\"\nfamily: app\ncontainerDefinitions:\n  - {name: app, image: busybox, memory: 64, gpuCount: 1}\n"
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
