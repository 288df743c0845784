package containerd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	containerdclient "github.com/containerd/containerd/v2/client"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// another is a further container of the task of c, which runs a script.
func another(c runtime.ContainerSpec, name, script string) runtime.ContainerSpec {
	def := *c.Def
	def.Name, def.Command = name, []string{"sh", "-c", script}
	c.ID, c.Def = runtime.ContainerID(c.Task.ID, name), &def
	return c
}

// sharing has the containers of the task share namespaces.
func sharing(pid, ipc string) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) { c.TaskDef.PIDMode, c.TaskDef.IPCMode = pid, ipc }
}

// namespace of a running container, "pid" or "ipc".
func (h *host) namespace(c runtime.ContainerSpec, kind string) string {
	h.t.Helper()
	found, err := h.runtime.List(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	at := slices.IndexFunc(found, func(f runtime.ExistingContainer) bool { return f.ID == c.ID })
	if at < 0 || found[at].PID == 0 {
		h.t.Fatalf("container %s does not run: %+v", c.ID, found)
	}
	link, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(found[at].PID), "ns", kind))
	if err != nil {
		h.t.Fatal(err)
	}
	return link
}

// join starts a further container of a task, and returns what it writes until its end.
func (h *host) join(c runtime.ContainerSpec, name, script string) string {
	h.t.Helper()
	joined := another(c, name, script)
	before := h.output(joined)
	must(h.t, h.runtime.Start(h.ctx(), joined))
	h.wait(joined)
	must(h.t, h.runtime.Remove(h.ctx(), joined.ID))
	return strings.TrimPrefix(h.output(joined), before)
}

func TestContainersOfATaskShareNamespaces(t *testing.T) {
	h := newHost(t).withBusybox()
	const seen = `grep -l 'find[m]e' /proc/[0-9]*/cmdline | wc -l; ls /dev/shm`
	for name, c := range map[string]struct {
		pid, ipc, want string
	}{
		"process ids":       {"task", "", "1\n"},
		"IPC":               {"", "task", "0\nmine\n"},
		"both":              {"task", "task", "1\nmine\n"},
		"neither by itself": {"", "", "0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.t = t
			first := h.start(sharing(c.pid, c.ipc), func(s *runtime.ContainerSpec) {
				s.Def.Command = []string{"sh", "-c", "touch /dev/shm/mine; echo ready; sleep 1000; echo findme"}
			})
			h.awaitLine(first, "ready")
			if got := h.join(first, "second", seen); !strings.HasSuffix(got, c.want) {
				t.Errorf("it sees %q, want %q", got, c.want)
			}
			h.namespace(first, "pid") // the end of one ends no other
			must(t, h.runtime.Remove(h.ctx(), first.ID))
			h.wantNothingOf(first)
		})
	}
}

// wantNothingOf has the runtime hold nothing of a task.
func (h *host) wantNothingOf(c runtime.ContainerSpec) {
	h.t.Helper()
	client, err := containerdclient.New(h.address(), containerdclient.WithDefaultNamespace("pinion"))
	if err != nil {
		h.t.Fatal(err)
	}
	defer client.Close()
	left, err := client.Containers(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, container := range left {
		if strings.HasPrefix(container.ID(), c.Task.ID) {
			h.t.Errorf("%s is left", container.ID())
		}
	}
	paths, _ := filepath.Glob(filepath.Join(h.config.Dir, "pause", "*"))
	groups, _ := filepath.Glob("/sys/fs/cgroup/pinion/" + c.Task.ID)
	older, _ := filepath.Glob("/sys/fs/cgroup/*/pinion/" + c.Task.ID)
	if all := slices.Concat(paths, groups, older); len(all) > 0 {
		h.t.Errorf("%v are left", all)
	}
}

func TestSharedNamespacesOutliveContainersAndRestarts(t *testing.T) {
	h := newHost(t).withBusybox()
	stays := h.start(sharing("task", "task"), sh("echo ready; exec sleep 1000"))
	h.awaitLine(stays, "ready")
	comes := another(stays, "comes", "echo here > /dev/shm/kept; echo up; exec sleep 1000")
	pids, ipc := h.namespace(stays, "pid"), h.namespace(stays, "ipc")
	for name, between := range map[string]func(){
		"a restart of the container": func() {},
		"one of Pinion":              func() { h.runtime.Close(); h.open() },
		"one of containerd":          func() { h.runtime.Close(); h.stopDaemon(); h.startDaemon(); h.open() },
	} {
		if h.daemon == nil && name == "one of containerd" {
			continue
		}
		must(t, h.runtime.Start(h.ctx(), comes))
		if h.namespace(comes, "pid") != pids || h.namespace(comes, "ipc") != ipc {
			t.Errorf("before %s it is in other namespaces", name)
		}
		between()
		must(t, h.runtime.Remove(h.ctx(), comes.ID))
	}
	if got := h.join(stays, "last", "cat /dev/shm/kept"); got != "here\n" {
		t.Errorf("the shared memory has %q", got)
	}
	must(t, h.runtime.Remove(h.ctx(), stays.ID))
	h.wantNothingOf(stays)
}

// The remains of a task without a container are removed when Pinion starts.
func TestAPauseContainerOfNoContainerIsRemoved(t *testing.T) {
	h := newHost(t).withBusybox()
	c := h.start(sharing("task", "task"), sh("exec sleep 1000"))
	h.forget(c)
	h.runtime.Close()
	h.open()
	h.wantNothingOf(c)
}

// forget removes a container, and nothing that is the task's.
func (h *host) forget(c runtime.ContainerSpec) {
	h.t.Helper()
	must(h.t, h.runtime.Purge(h.ctx(), c.ID))
}

func TestAContainerCannotHarmThePauseContainer(t *testing.T) {
	h := newHost(t).withBusybox()
	powers := func(c *runtime.ContainerSpec) {
		c.Def.LinuxParameters = &spec.LinuxParameters{Capabilities: &spec.Capabilities{Add: []string{"SYS_PTRACE"}}}
	}
	const attack = `for s in HUP INT QUIT TERM KILL USR1 PIPE STOP; do kill -$s 1 2>/dev/null; done
		grep -E '^(Cap(Eff|Prm|Bnd)|NoNewPrivs|Seccomp):' /proc/1/status | tr -s '\t\n' ' '; echo
		grep -v -E ' /proc| /dev| /sys' /proc/1/mounts | wc -l; find /proc/1/root/ -xdev -type f | wc -l; touch /proc/1/root/x 2>/dev/null && echo written; ls /proc/1/fd | wc -l; echo survived`
	c := h.start(sharing("task", ""), powers, sh(attack+"; exec sleep 1000"))
	h.awaitLine(c, "survived")
	h.namespace(c, "pid")
	out := h.output(c)
	if !strings.Contains(out, "CapPrm: 0000000000000000 CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2") || strings.Contains(out, "written") {
		t.Errorf("the pause container has %q", out)
	}
	must(t, h.runtime.Kill(h.ctx(), c.ID, syscall.SIGKILL))
	t.Log(out)
}

func TestNoSharedMemoryWithIPCModeNone(t *testing.T) {
	runContainerCases(t, map[string]containerCase{
		"of its own without":     {nil, "ls -d /dev/shm", "/dev/shm\n"},
		"none with ipcMode none": {sharing("", "none"), "ls -d /dev/shm 2>/dev/null || echo none", "none\n"},
		"of the size for the task": {func(c *runtime.ContainerSpec) {
			sharing("", "task")(c)
			c.Def.LinuxParameters = &spec.LinuxParameters{SharedMemorySize: 128}
		}, "df -m /dev/shm | awk 'NR==2{print $2}'; grep ' /dev/shm ' /proc/mounts | grep -c nosuid,nodev,noexec", "128\n1\n"},
	})
}
