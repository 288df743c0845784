package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/gpu"
	"pinion/gpu/sim"
	"pinion/node"
	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/containerd/daemon"
	"pinion/node/gpuhealth"
	"pinion/node/gpuusage"
	"pinion/node/logs"
	"pinion/node/network"
	"pinion/node/network/networktest"
	"pinion/raftfsm/spec"
)

// realHost is a host with everything real but the cluster and the GPUs.
type realHost struct {
	testing.TB
	dir     string
	image   string
	devices []gpu.Device
	config  node.Config
	control *fakeControl
	runtime *containerd.Runtime
	crash   func()
}

func newRealHost(t testing.TB) *realHost {
	t.Helper()
	dir, err := os.MkdirTemp("", "node-*") // short, because sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &realHost{TB: t, dir: dir, control: newFakeControl(), crash: func() {}}
	log := slog.New(slog.DiscardHandler)
	tools := containerdtest.FindTools(t)
	daemon, err := daemon.Start(t.Context(), daemon.Config{Containerd: tools.Containerd, Shim: tools.Shim, Runc: tools.Runc, Dir: filepath.Join(dir, "containerd"), Log: log})
	m.must(err)
	t.Cleanup(func() { m.must(daemon.Stop(context.Background())) })
	source, err := sim.Open("2xh100", filepath.Join(dir, "sim"), "/bin/busybox")
	m.must(err)
	t.Cleanup(func() { m.must(source.Close()) })
	inventory, err := source.Inventory(t.Context())
	m.must(err)
	m.devices = inventory.Devices
	bridge, err := network.Open(networktest.Plugins(t), filepath.Join(dir, "network"))
	m.must(err)
	t.Cleanup(func() { m.must(bridge.Close()) })
	store := logs.NewStore(filepath.Join(dir, "logs"))
	m.runtime, err = containerd.Open(t.Context(), containerd.Config{
		Address: daemon.Address(), Snapshotter: daemon.Snapshotter(), Shim: tools.Shim, Runc: tools.Runc, Logger: tools.Logger, Entrypoint: tools.Entrypoint, Logs: store.Path, CDI: source.CDI,
		Dir: filepath.Join(dir, "runtime"), RegistryConfig: filepath.Join(dir, "registry"), Log: log,
	})
	m.must(err)
	t.Cleanup(func() { m.must(m.runtime.Close()) })
	m.image = containerdtest.Registry(t, map[string]v1.Image{"busybox:1": containerdtest.Busybox(t)}) + "/busybox:1"
	health, err := gpuhealth.Open(gpuhealth.Config{Dir: dir, Log: log})
	m.must(err)
	m.config = node.Config{
		GPUHealth: health, GPUUsage: gpuusage.New(log),
		Host: spec.Host{ID: hostID}, Control: m.control, Images: m.runtime, Containers: m.runtime, Execer: m.runtime, Network: bridge,
		GPUs: source, Logs: store, Dir: dir, Log: log,
	}
	t.Cleanup(func() { m.crash() })
	return m
}

func (m *realHost) must(err error) {
	m.Helper()
	if err != nil {
		m.Error(err)
	}
}

// boot starts the agent. Only what is reported from here on counts.
func (m *realHost) boot() *node.Node {
	m.control.mu.Lock()
	clear(m.control.reports)
	m.control.mu.Unlock()
	agent := node.New(m.config)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.must(agent.Run(ctx))
	}()
	m.crash = func() { cancel(); <-done; m.crash = func() {} }
	<-agent.Joined()
	return agent
}

// until waits for a report of the task that the condition holds for.
func (m *realHost) until(task string, holds func(spec.TaskReport) bool) spec.TaskReport {
	m.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	report, err := m.control.wait(ctx, task, holds)
	if err != nil {
		m.Fatalf("task %s: %v; last report %+v", task, err, report)
	}
	return report
}

func is(s spec.Status) func(spec.TaskReport) bool {
	return func(r spec.TaskReport) bool { return r.Status == s }
}

var taskNumber atomic.Int64

// run assigns a task that runs a shell script on these GPUs.
func (m *realHost) run(script string, gpus ...string) string {
	def := withGPUs("main", strings.Join(gpus, ","))
	def.Image, def.Command, def.Memory = m.image, []string{"sh", "-c", script}, 64
	return m.control.run(fmt.Sprintf("%032x", taskNumber.Add(1)), def)
}

func (m *realHost) output(agent *node.Node, task string) string {
	m.Helper()
	var text strings.Builder
	m.must(agent.Logs(m.Context(), spec.LogQuery{Task: task, Follow: true}, func(l spec.LogLine) error {
		text.WriteString(l.Text + "\n")
		return nil
	}))
	return text.String()
}

// awaitLine waits until the task has written something.
func (m *realHost) awaitLine(agent *node.Node, task string) {
	m.Helper()
	err := agent.Logs(m.Context(), spec.LogQuery{Task: task, Follow: true}, func(spec.LogLine) error { return errSeen })
	if !errors.Is(err, errSeen) {
		m.Fatalf("task %s wrote nothing: %v", task, err)
	}
}

var errSeen = errors.New("seen")

func TestOnRealContainers(t *testing.T) {
	m := newRealHost(t)
	agent := m.boot()
	uuid := m.devices[1].UUID

	t.Log("a task sees its own GPU and its own network, and its log is whole")
	first := m.run("echo $NVIDIA_VISIBLE_DEVICES; ls /dev/nvidia[0-9]*; cat /etc/hosts; ip addr; exit 3", uuid)
	text := m.output(agent, first)
	for _, want := range []string{uuid + "\n", "/dev/nvidia1\n", first[:12], "eth0", "172.31."} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q:\n%s", want, text)
		}
	}
	if report := m.until(first, is(spec.Stopped)); code(report, 0) != 3 || report.StopCode != spec.StopEssentialExited {
		t.Errorf("it ended as %+v", report)
	}

	t.Log("a running task outlives the agent, and is stopped by the next one")
	second := m.run("trap 'exit 7' TERM; echo up; while :; do sleep 0.1; done", uuid)
	started := m.until(second, is(spec.Running)).Times.Started
	m.awaitLine(agent, second)
	m.crash()
	m.boot()
	if report := m.until(second, is(spec.Running)); !report.Times.Started.Equal(started) {
		t.Errorf("it started at %v, now it says %v", started, report.Times.Started)
	}
	m.control.stop(second, "enough")
	if report := m.until(second, is(spec.Stopped)); code(report, 0) != 7 || report.StoppedReason != "enough" {
		t.Errorf("it ended as %+v", report)
	}

	t.Log("a command that is not there, and an image that is not")
	if report := m.until(m.broken("/no/such/command", m.image), is(spec.Stopped)); !strings.HasPrefix(report.StoppedReason, "CannotStartContainerError: ") {
		t.Errorf("reason is %q", report.StoppedReason)
	}
	if report := m.until(m.broken("sh", m.image+"x"), is(spec.Stopped)); !strings.HasPrefix(report.StoppedReason, "CannotPullContainerError: ") {
		t.Errorf("reason is %q", report.StoppedReason)
	}
	m.crash()
	if left, err := m.runtime.List(t.Context()); err != nil || len(left) > 0 {
		t.Errorf("containers are left: %+v, %v", left, err)
	}
}

// broken assigns a task that cannot start.
func (m *realHost) broken(command, image string) string {
	def := container("main")
	def.Image, def.Command, def.Memory = image, []string{command}, 64
	return m.control.run(fmt.Sprintf("%032x", taskNumber.Add(1)), def)
}

// BenchmarkStart compares what the agent takes from an assignment to the container's start with the runtime's share.
func BenchmarkStart(b *testing.B) {
	m := newRealHost(b)
	m.boot()
	m.until(m.run("exit 0"), is(spec.Stopped)) // the image is here, the bridge is up
	for name, gpus := range map[string][]string{"without GPU": nil, "with GPU": {m.devices[0].UUID}} {
		b.Run("agent "+name, func(b *testing.B) {
			for b.Loop() {
				task := m.run("sleep 1000", gpus...)
				m.until(task, is(spec.Running))
				b.StopTimer()
				m.runtime.Kill(b.Context(), id(task, "main"), 9)
				m.until(task, is(spec.Stopped))
				b.StartTimer()
			}
		})
	}
	image, err := m.runtime.Pull(b.Context(), m.image, func(spec.Pull) {})
	m.must(err)
	b.Run("runtime alone", func(b *testing.B) {
		for b.Loop() {
			containerSpec := specOf(fmt.Sprintf("%032x", taskNumber.Add(1)), "main")
			containerSpec.Def.Command, containerSpec.Image, containerSpec.Network, containerSpec.TaskDef = []string{"sleep", "1000"}, image, "none", &spec.TaskDefinition{}
			m.must(m.runtime.Start(b.Context(), containerSpec))
			b.StopTimer()
			m.must(m.runtime.Remove(b.Context(), containerSpec.ID))
			b.StartTimer()
		}
	})
}
