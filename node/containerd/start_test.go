package containerd_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"pinion/node/containerd/containerdtest"
	"pinion/node/runtime"
	"pinion/raftfsm/logdriver"
	"pinion/raftfsm/spec"
)

// containerCase is a change to a container's definition, a script that runs in the container, and what it writes.
type containerCase struct {
	change func(*runtime.ContainerSpec)
	script string
	want   string
}

// runContainerCases runs each case in a container of busybox.
func runContainerCases(t *testing.T, cases map[string]containerCase) {
	h := newHost(t).withBusybox()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.t = t
			changes := []func(*runtime.ContainerSpec){sh(c.script)}
			if c.change != nil {
				changes = append(changes, c.change)
			}
			if exit, out := h.run(changes...); out != c.want {
				t.Errorf("it wrote %q, want %q (exit %+v)", out, c.want, exit)
			}
		})
	}
}

func TestWhatAContainersProcessGets(t *testing.T) {
	yes := true
	runContainerCases(t, map[string]containerCase{
		"both streams":               {nil, "echo out; usleep 50000; echo err >&2", "out\nerr\n"},
		"the image's environment":    {nil, "echo $FROM_IMAGE", "yes\n"},
		"no GPU whatever the image":  {nil, "echo $NVIDIA_VISIBLE_DEVICES; ls /dev | grep -c nvidia", "void\n0\n"},
		"its environment wins":       {func(c *runtime.ContainerSpec) { c.Env = append(c.Env, "FROM_IMAGE=no") }, "echo $FROM_IMAGE", "no\n"},
		"a host name":                {nil, "hostname; echo $HOSTNAME", "test\ntest\n"},
		"a working directory":        {func(c *runtime.ContainerSpec) { c.Def.WorkingDirectory = "/tmp" }, "pwd", "/tmp\n"},
		"root without a word":        {nil, "id -u; id -g", "0\n0\n"},
		"a user by name with groups": {func(c *runtime.ContainerSpec) { c.Def.User = "nobody" }, "id -u; id -G", "65534\n65534 60\n"},
		"a user by number":           {func(c *runtime.ContainerSpec) { c.Def.User = "1234:5678" }, "id -u; id -g", "1234\n5678\n"},
		"open files": {func(c *runtime.ContainerSpec) {
			c.Def.Ulimits = []spec.Ulimit{{Name: "nofile", SoftLimit: 100, HardLimit: 200}}
		}, "ulimit -n; ulimit -Hn", "100\n200\n"},
		"no network but itself":         {nil, "ip -o link | wc -l", "1\n"},
		"docker's capabilities":         {nil, "grep CapEff /proc/self/status | cut -f2", "00000000a80425fb\n"},
		"one more and some fewer":       {capabilities([]string{"SYS_NICE"}, []string{"CAP_CHOWN", "MKNOD"}), "grep CapEff /proc/self/status | cut -f2", "00000000a08425fa\n"},
		"only those asked for":          {capabilities([]string{"CHOWN"}, []string{"ALL"}), "grep CapEff /proc/self/status | cut -f2", "0000000000000001\n"},
		"every privilege, without GPUs": {func(c *runtime.ContainerSpec) { c.Def.Privileged = &yes }, "mount -t tmpfs x /tmp && echo mounted; grep Seccomp: /proc/self/status | cut -f2; test -e /dev/kmsg && echo devices", "mounted\n0\ndevices\n"},
		"a system call filter":          {nil, "grep Seccomp: /proc/self/status | cut -f2", "2\n"},
		"kernel parameters of its own": {func(c *runtime.ContainerSpec) {
			c.Def.SystemControls = []spec.SystemControl{{Namespace: "net.core.somaxconn", Value: "511"}, {Namespace: "kernel.msgmax", Value: "8193"}}
		}, "cat /proc/sys/net/core/somaxconn /proc/sys/kernel/msgmax", "511\n8193\n"},
		"the kernel's usual OOM score": {nil, "cat /proc/self/oom_score_adj", "0\n"},
		"no way to the host's devices": {func(c *runtime.ContainerSpec) { c.Def.User = "" }, "mknod /dev/sda b 254 0 && cat /dev/sda 2>&1 >/dev/null | grep -o 'not permitted'", "not permitted\n"},
	})
}

func TestWhatAContainerHasOfFilesAndTerminals(t *testing.T) {
	scratch := t.TempDir()
	hosts := filepath.Join(scratch, "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	yes := true
	runContainerCases(t, map[string]containerCase{
		"a root file system to write": {nil, "touch /file && echo written", "written\n"},
		"or only to read":             {func(c *runtime.ContainerSpec) { c.Def.ReadonlyRootFilesystem = &yes }, "touch /file 2>/dev/null || echo refused", "refused\n"},
		"shared memory of a size":     {func(c *runtime.ContainerSpec) { c.Def.LinuxParameters = &spec.LinuxParameters{SharedMemorySize: 128} }, "df -m /dev/shm | awk 'NR==2{print $2}'", "128\n"},
		"a memory file system": {func(c *runtime.ContainerSpec) {
			c.Def.LinuxParameters = &spec.LinuxParameters{Tmpfs: []spec.Tmpfs{{ContainerPath: "/fast", Size: 16}}}
		}, "df -m /fast | awk 'NR==2{print $2}'", "16\n"},
		"a volume": {func(c *runtime.ContainerSpec) {
			c.Def.MountPoints = []spec.MountPoint{{SourceVolume: "data", ContainerPath: "/data"}}
			c.Volumes = map[string]runtime.Volume{"data": {Path: scratch}}
		}, "cat /data/hosts", "127.0.0.1 localhost mine\n"},
		"a volume only to read": {func(c *runtime.ContainerSpec) {
			c.Def.MountPoints = []spec.MountPoint{{SourceVolume: "data", ContainerPath: "/data", ReadOnly: true}}
			c.Volumes = map[string]runtime.Volume{"data": {Path: scratch}}
		}, "touch /data/x 2>/dev/null || echo refused", "refused\n"},
		"host names":  {func(c *runtime.ContainerSpec) { c.HostsFile = hosts }, "cat /etc/hosts", "127.0.0.1 localhost mine\n"},
		"a terminal":  {func(c *runtime.ContainerSpec) { c.Def.PseudoTerminal = &yes }, "test -t 0 && test -t 1 && echo terminal", "terminal\r\n"},
		"no terminal": {nil, "test -t 1 || echo none", "none\n"},
	})
}

func capabilities(add, drop []string) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) {
		c.Def.LinuxParameters = &spec.LinuxParameters{Capabilities: &spec.Capabilities{Add: add, Drop: drop}}
	}
}

func TestEntryPointAndCommandCombineAsInDocker(t *testing.T) {
	h := newHost(t)
	base := containerdtest.Busybox(t)
	addr := containerdtest.Registry(t, map[string]v1.Image{
		"both:1":    containerdtest.Configured(t, base, func(c *v1.ConfigFile) { c.Config.Entrypoint, c.Config.Cmd = []string{"echo", "image"}, []string{"cmd"} }),
		"neither:1": containerdtest.Configured(t, base, func(c *v1.ConfigFile) { c.Config.Entrypoint, c.Config.Cmd = nil, nil }),
	})
	for _, c := range []struct {
		entryPoint, command []string
		want                string
	}{
		{nil, nil, "image cmd\n"},
		{nil, []string{"mine"}, "image mine\n"},
		{[]string{"echo", "own"}, nil, "own\n"},
		{[]string{"echo", "own"}, []string{"mine"}, "own mine\n"},
	} {
		h.image = h.pull(addr + "/both:1")
		_, out := h.run(func(s *runtime.ContainerSpec) { s.Def.EntryPoint, s.Def.Command = c.entryPoint, c.command })
		if out != c.want {
			t.Errorf("entryPoint %q, command %q: %q, want %q", c.entryPoint, c.command, out, c.want)
		}
	}
	h.image = h.pull(addr + "/neither:1")
	err := h.runtime.Start(h.ctx(), h.task())
	if !errors.Is(err, runtime.ErrCreate) || !strings.Contains(err.Error(), "set command") {
		t.Errorf("nothing to run: %v", err)
	}
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	h := newHost(t).withBusybox()
	for name, c := range map[string]struct {
		change func(*runtime.ContainerSpec)
		want   string
		create bool // refused before the process was tried
	}{
		"no such command": {func(c *runtime.ContainerSpec) { c.Def.Command = []string{"nosuch"} }, `the image has no program "nosuch"`, false},
		"not executable":  {func(c *runtime.ContainerSpec) { c.Def.Command = []string{"/tmp"} }, "/tmp", false},
		"no such user":    {func(c *runtime.ContainerSpec) { c.Def.User = "ghost" }, `user "ghost"`, true},
		"no such volume": {func(c *runtime.ContainerSpec) {
			c.Def.MountPoints = []spec.MountPoint{{SourceVolume: "x", ContainerPath: "/x"}}
		}, `no volume "x"`, true},
		"no such GPU": {func(c *runtime.ContainerSpec) { c.GPUs = []string{"GPU-1"} }, "no GPUs", true},
		"a size in the wrong": {func(c *runtime.ContainerSpec) {
			c.Def.LogConfiguration = &logdriver.Configuration{Options: map[string]string{"max-size": "big"}}
		}, "max-size", true},
		"an image that went": {func(c *runtime.ContainerSpec) { c.Image.Digest = "sha256:" + strings.Repeat("0", 64) }, "not on this host any more", true},
	} {
		t.Run(name, func(t *testing.T) {
			spec := h.task(sh("true"), c.change)
			err := h.runtime.Start(h.ctx(), spec)
			if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, runtime.ErrCreate) != c.create {
				t.Errorf("start answers %v, want %q", err, c.want)
			}
			if found, err := h.runtime.List(h.ctx()); len(found) > 0 || err != nil {
				t.Errorf("left: %+v, %v", found, err)
			}
			if err := h.runtime.Start(h.ctx(), h.taskAgain(spec)); err != nil {
				t.Errorf("the id cannot be used again: %v", err)
			}
			if err := h.runtime.Remove(h.ctx(), spec.ID); err != nil {
				t.Error(err)
			}
			if left := cgroupsOf(spec.Task.ID); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// taskAgain is a container with the id of another that does start.
func (h *host) taskAgain(other runtime.ContainerSpec) runtime.ContainerSpec {
	c := h.task(sh("true"))
	c.ID, c.Task = other.ID, other.Task
	return c
}

// cgroupsOf lists the directories of a task's control groups.
func cgroupsOf(task string) []string {
	separate, _ := filepath.Glob("/sys/fs/cgroup/*/pinion/" + task)
	unified, _ := filepath.Glob("/sys/fs/cgroup/pinion/" + task)
	return append(separate, unified...)
}

func TestLimits(t *testing.T) {
	h := newHost(t).withBusybox()
	exit, out := h.run(sh("head -c 200m /dev/zero | tail >/dev/null; echo never"), func(c *runtime.ContainerSpec) {
		c.Def.Memory = 32
		c.Def.Command = []string{"sh", "-c", "exec tail /dev/zero"}
	})
	if exit.Code != 137 || !exit.OOM {
		t.Errorf("out of its own memory: %+v %q", exit, out)
	}
	const limit = 32 << 20
	if exit.PeakMemory < limit/2 || exit.PeakMemory > limit {
		t.Errorf("its peak is told as %d bytes, of %d", exit.PeakMemory, limit)
	}
	exit, out = h.run(func(c *runtime.ContainerSpec) {
		c.TaskDef.Memory = "32"
		c.Def.Command = []string{"sh", "-c", "exec tail /dev/zero"}
	})
	if exit.Code != 137 || !exit.OOM {
		t.Errorf("out of the task's memory: %+v %q", exit, out)
	}
	c := h.start(sh("trap 'exit 0' TERM; echo up; while :; do sleep 0.1; done"), func(c *runtime.ContainerSpec) {
		c.TaskDef.CPU, c.TaskDef.Memory = "512", "256"
		c.Def.CPU, c.Def.Memory = 256, 128
	})
	h.awaitLine(c, "up")
	for path, want := range map[string]string{
		"/sys/fs/cgroup/cpu/pinion/%t/cpu.cfs_quota_us":              "50000",
		"/sys/fs/cgroup/cpu/pinion/%t/main/cpu.shares":               "256",
		"/sys/fs/cgroup/memory/pinion/%t/memory.limit_in_bytes":      "268435456",
		"/sys/fs/cgroup/memory/pinion/%t/main/memory.limit_in_bytes": "134217728",
		"/sys/fs/cgroup/pinion/%t/cpu.max":                           "50000 100000",
		"/sys/fs/cgroup/pinion/%t/memory.max":                        "268435456",
		"/sys/fs/cgroup/pinion/%t/main/memory.max":                   "134217728",
	} {
		raw, err := os.ReadFile(strings.ReplaceAll(path, "%t", c.Task.ID))
		if err == nil && strings.TrimSpace(string(raw)) != want {
			t.Errorf("%s is %s, want %s", path, raw, want)
		}
	}
	if err := h.runtime.Kill(h.ctx(), c.ID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if exit := h.wait(c); exit.Code != 0 || exit.OOM {
		t.Errorf("exit %+v", exit)
	}
	if err := h.runtime.Remove(h.ctx(), c.ID); err != nil {
		t.Fatal(err)
	}
	if left := cgroupsOf(c.Task.ID); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestAContainerSeesExactlyItsGPUs(t *testing.T) {
	devices, withGPUs := withSimulatedGPUs(t, "4xh100")
	h := newHost(t, withGPUs).withBusybox()
	mine := []string{devices[2].UUID, devices[0].UUID}
	_, out := h.run(sh("ls /dev | grep '^nvidia[0-9]'; echo $NVIDIA_VISIBLE_DEVICES"), func(c *runtime.ContainerSpec) {
		c.GPUs = mine
		c.Env = []string{"NVIDIA_VISIBLE_DEVICES=" + strings.Join(mine, ",")}
	})
	lines := strings.Fields(out)
	if !slices.Equal(lines, []string{"nvidia0", "nvidia2", strings.Join(mine, ",")}) {
		t.Errorf("it sees %q", lines)
	}
	yes := true
	err := h.runtime.Start(h.ctx(), h.task(sh("true"), func(c *runtime.ContainerSpec) { c.Def.Privileged = &yes }))
	if !errors.Is(err, runtime.ErrCreate) || !strings.Contains(err.Error(), "privileged is refused on a host with GPUs") {
		t.Errorf("privileged: %v", err)
	}
	err = h.runtime.Start(h.ctx(), h.task(sh("true"), func(c *runtime.ContainerSpec) { c.GPUs = []string{"GPU-of-another-host"} }))
	if !errors.Is(err, runtime.ErrCreate) || !strings.Contains(err.Error(), "GPU-of-another-host") {
		t.Errorf("unknown GPU: %v", err)
	}
}

func TestTheImagesLabelsStayWithTheImage(t *testing.T) {
	h := newHost(t).withBusybox() // its labels claim that it has ended, and more
	c := h.start(sh("echo up; exec sleep 1000"))
	found, err := h.runtime.List(h.ctx())
	if err != nil || len(found) != 1 || found[0].Exit != nil || found[0].PID == 0 {
		t.Fatalf("found %+v, %v", found, err)
	}
	if err := h.runtime.Kill(h.ctx(), c.ID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if exit := h.wait(c); exit.Code != 137 || exit.OOM {
		t.Errorf("exit %+v", exit)
	}
}
