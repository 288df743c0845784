package containerd_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd"
	"pinion/node/containerd/containerdtest"
	"pinion/node/containerd/daemon"
	"pinion/node/logs"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// host is one containerd with a runtime on it, as a host has them, and an image to run.
type host struct {
	t       testing.TB
	dir     string
	tools   containerdtest.Tools
	daemon  *daemon.Daemon
	config  containerd.Config
	runtime *containerd.Runtime
	logs    *logs.Store
	image   runtime.Image
	log     *syncBuffer
}

// patience bounds every wait of these tests; it is reached only on a failure.
const patience = 2 * time.Minute

func newHost(t testing.TB, change ...func(*containerd.Config)) *host {
	t.Helper()
	return newHostIn(t, shortDir(t), change...)
}

func newHostIn(t testing.TB, dir string, change ...func(*containerd.Config)) *host {
	t.Helper()
	h := &host{t: t, dir: dir, tools: containerdtest.FindTools(t), log: &syncBuffer{}}
	h.startDaemon()
	t.Cleanup(h.stopDaemon)
	h.logs = logs.NewStore(filepath.Join(h.dir, "logs"))
	h.config = containerd.Config{
		Address: h.address(), Namespace: "pinion", Shim: h.tools.Shim, Runc: h.tools.Runc, Logger: h.tools.Logger, Entrypoint: h.tools.Entrypoint,
		Logs: h.logs.Path, Dir: filepath.Join(h.dir, "runtime"), RegistryConfig: filepath.Join(h.dir, "registry"), Log: h.logger(),
	}
	if h.daemon != nil {
		h.config.Snapshotter = h.daemon.Snapshotter()
	}
	for _, c := range change {
		c(&h.config)
	}
	h.open()
	t.Cleanup(h.removeAll)
	return h
}

// shortDir is a directory whose sockets have paths short enough for the kernel.
func shortDir(t testing.TB) string {
	dir, err := os.MkdirTemp("", "containerd-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o711); err != nil { // as a data directory has it
		t.Fatal(err)
	}
	return dir
}

func (h *host) logger() *slog.Logger { return slog.New(slog.NewTextHandler(h.log, nil)) }

func (h *host) startDaemon() {
	h.t.Helper()
	if binary := os.Getenv("PINION_TEST_CONTAINERD"); binary != "" {
		h.startHostDaemon(binary)
		return
	}
	var err error
	h.daemon, err = daemon.Start(h.t.Context(), daemon.Config{
		Containerd: h.tools.Containerd, Shim: h.tools.Shim, Runc: h.tools.Runc,
		Dir: filepath.Join(h.dir, "containerd"), Log: h.logger(),
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// startHostDaemon is a daemon of the host's own: it has its own shim and configuration, and the runtime uses only its
// socket. PINION_TEST_CONTAINERD=/usr/bin/containerd runs the tests on such a daemon.
func (h *host) startHostDaemon(binary string) {
	h.t.Helper()
	config := filepath.Join(h.dir, "host.toml")
	text := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n",
		h.dir+"/root", h.dir+"/state", h.dir+"/host.sock")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.Command(binary, "--config", config)
	cmd.Env = []string{"PATH=" + filepath.Dir(binary) + ":/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.Stdout, cmd.Stderr = h.log, h.log
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	h.tools.Shim = "" // its own
}

func (h *host) address() string {
	if h.daemon == nil {
		return filepath.Join(h.dir, "host.sock")
	}
	return h.daemon.Address()
}

func (h *host) stopDaemon() {
	if h.daemon == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.daemon.Stop(ctx); err != nil {
		h.t.Error(err)
	}
	if h.t.Failed() {
		h.t.Log(h.log.String())
	}
}

// open opens the runtime, as a Pinion that starts does.
func (h *host) open() {
	h.t.Helper()
	var err error
	if h.runtime, err = containerd.Open(h.t.Context(), h.config); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) removeAll() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	found, err := h.runtime.List(ctx)
	if err != nil {
		h.t.Error(err)
	}
	for _, f := range found {
		if err := h.runtime.Remove(ctx, f.ID); err != nil {
			h.t.Error(err)
		}
	}
	h.runtime.Close()
}

func (h *host) ctx() context.Context {
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	h.t.Cleanup(cancel)
	return ctx
}

// pull pulls and fails the test when that fails.
func (h *host) pull(ref string) runtime.Image {
	h.t.Helper()
	img, err := h.runtime.Pull(h.ctx(), ref, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return img
}

// withBusybox pulls busybox from a registry of the test's own.
func (h *host) withBusybox() *host {
	h.t.Helper()
	addr := containerdtest.Registry(h.t, map[string]v1.Image{"busybox:1": containerdtest.Busybox(h.t)})
	h.image = h.pull(addr + "/busybox:1")
	return h
}

var nextTask struct {
	sync.Mutex
	n int
}

// task is a task with one container, as the agent hands it over.
func (h *host) task(change ...func(*runtime.ContainerSpec)) runtime.ContainerSpec {
	nextTask.Lock()
	nextTask.n++
	id := fmt.Sprintf("%08x%024x", os.Getpid(), nextTask.n)
	nextTask.Unlock()
	def := spec.ContainerDefinition{Name: "main", Image: h.image.Ref, Hostname: "test"}
	taskDef := &spec.TaskDefinition{Family: "test", Revision: 1, Containers: []spec.ContainerDefinition{def}}
	c := runtime.ContainerSpec{
		ID: runtime.ContainerID(id, def.Name), Task: &spec.Task{ID: id}, TaskDef: taskDef, Def: &taskDef.Containers[0],
		Image: h.image, Network: "none", Env: []string{"NVIDIA_VISIBLE_DEVICES=void"},
	}
	for _, edit := range change {
		edit(&c)
	}
	return c
}

// sh makes the container run a shell script.
func sh(script string) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) { c.Def.Command = []string{"sh", "-c", script} }
}

// start starts a container and fails the test when that fails.
func (h *host) start(change ...func(*runtime.ContainerSpec)) runtime.ContainerSpec {
	h.t.Helper()
	c := h.task(change...)
	if err := h.runtime.Start(h.ctx(), c); err != nil {
		h.t.Fatal(err)
	}
	return c
}

func (h *host) wait(c runtime.ContainerSpec) runtime.Exit {
	h.t.Helper()
	exit, err := h.runtime.Wait(h.ctx(), c.ID)
	if err != nil {
		h.t.Fatal(err)
	}
	return exit
}

// run runs a container to its end and answers what it wrote.
func (h *host) run(change ...func(*runtime.ContainerSpec)) (runtime.Exit, string) {
	h.t.Helper()
	c := h.start(change...)
	exit := h.wait(c)
	return exit, h.output(c)
}

// output is the output of the container so far.
func (h *host) output(c runtime.ContainerSpec) string {
	h.t.Helper()
	var text strings.Builder
	err := h.logs.Read(h.ctx(), spec.LogQuery{Task: c.Task.ID}, nil, func(l spec.LogLine) error {
		text.WriteString(l.Text + "\n")
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return text.String()
}

// awaitLine waits until the container has written a line that contains text.
func (h *host) awaitLine(c runtime.ContainerSpec, text string) {
	h.t.Helper()
	ctx, cancel := context.WithCancel(h.ctx())
	defer cancel()
	seen := false
	err := h.logs.Read(ctx, spec.LogQuery{Task: c.Task.ID, Follow: true}, nil, func(l spec.LogLine) error {
		if strings.Contains(l.Text, text) {
			seen = true
			cancel()
		}
		return nil
	})
	if !seen {
		h.t.Fatalf("no line %q: %v", text, err)
	}
}
