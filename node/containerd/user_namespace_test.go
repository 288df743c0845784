package containerd_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/containerd"
	"pinion/node/network"
	"pinion/node/network/networktest"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// someIDs are ids of the host for the user namespaces of a test's containers, and otherIDs are others.
const someIDs, otherIDs = 1<<31 + 7<<16, 1<<31 + 8<<16

func withIDs(first uint32) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) { c.IDs = runtime.IDRange{First: first} }
}

func capable(c *runtime.ContainerSpec) {
	c.Def.LinuxParameters = &spec.LinuxParameters{Capabilities: &spec.Capabilities{Add: []string{"ALL"}}}
}

func asUser(name string) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) { c.Def.User = name }
}

// wantIDs checks what the host sees of the container: whose its process is, and which ids its user namespace has.
func (h *host) wantIDs(c runtime.ContainerSpec, first uint32) {
	h.t.Helper()
	proc := fmt.Sprintf("/proc/%d/", h.pidOf(c))
	info, err := os.Stat(proc)
	if err != nil {
		h.t.Fatal(err)
	}
	mapping, _ := os.ReadFile(proc + "uid_map")
	groups, _ := os.ReadFile(proc + "gid_map")
	want := fmt.Sprint([]string{"0", fmt.Sprint(first), "65536"})
	owner := info.Sys().(*syscall.Stat_t)
	if owner.Uid != first || owner.Gid != first || fmt.Sprint(strings.Fields(string(mapping))) != want || fmt.Sprint(strings.Fields(string(groups))) != want {
		h.t.Errorf("it is user %d, group %d, with the ids %s and %s; want those from %d", owner.Uid, owner.Gid, mapping, groups, first)
	}
}

// wantOwner checks whose a file is on the disk.
func wantOwner(t *testing.T, path string, id uint32) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
	} else if owner := info.Sys().(*syscall.Stat_t); owner.Uid != id || owner.Gid != id {
		t.Errorf("%s is user %d's and group %d's, want %d", path, owner.Uid, owner.Gid, id)
	}
}

// userCase is a command in a container with a user namespace, and its expected output.
type userCase struct {
	change []func(*runtime.ContainerSpec)
	script string
	want   string
}

func userCases(gpu string) map[string]userCase {
	const denied = "2>/dev/null && echo done; true"
	return map[string]userCase{
		"it is root in the container":        {nil, "id -u; touch /x; chown 1000 /x; stat -c %u /x /bin/busybox", "0\n1000\n0\n"},
		"its own output":                     {nil, "echo out > /dev/stdout", "out\n"},
		"the output of another user":         {[]func(*runtime.ContainerSpec){asUser("1234:5678")}, "id -u; echo out > /dev/stdout", "1234\nout\n"},
		"a user by name":                     {[]func(*runtime.ContainerSpec){asUser("nobody")}, "id -u; id -G", "65534\n65534 60\n"},
		"a terminal":                         {[]func(*runtime.ContainerSpec){func(c *runtime.ContainerSpec) { c.Def.PseudoTerminal = new(true) }}, "tty; stat -c %u /dev/console", "/dev/pts/0\r\n0\r\n"},
		"memory file systems":                {[]func(*runtime.ContainerSpec){withMemory}, "stat -c %u /mem /dev/shm; touch /dev/shm/x && echo ok", "1000\n0\nok\n"},
		"controls of its network":            {[]func(*runtime.ContainerSpec){withControl}, "cat /proc/sys/net/core/somaxconn /proc/sys/net/ipv4/ip_unprivileged_port_start", "1234\n0\n"},
		"its GPUs and no others":             {[]func(*runtime.ContainerSpec){withGPU(gpu)}, "ls /dev | grep '^nvidia[0-9]'; cat /dev/nvidia2 2>&1 | grep -o 'No such device'; echo x 2>&1 >/dev/nvidia2 | grep -o 'No such device'; stat -c %u%a /dev/nvidia2", "nvidia2\nNo such device\nNo such device\n0666\n"},
		"its limits":                         {nil, "cat /proc/self/oom_score_adj; grep -c pinion /proc/self/cgroup >/dev/null && echo grouped", "0\ngrouped\n"},
		"no device of its own making":        {[]func(*runtime.ContainerSpec){capable}, "mknod /sda b 8 0 " + denied, ""},
		"no file system of a device":         {[]func(*runtime.ContainerSpec){capable}, "mount -t ext4 /dev/nvidia0 /mnt " + denied + "; mount -t devtmpfs none /mnt " + denied, ""},
		"no setting of the host":             {[]func(*runtime.ContainerSpec){capable}, "mount -o remount,rw /proc/sys 2>/dev/null; (echo 1 > /proc/sys/vm/drop_caches) " + denied + "; (echo 1 > /proc/sys/kernel/printk) " + denied, ""},
		"no device of the host's in /dev":    {[]func(*runtime.ContainerSpec){capable}, "chmod 600 /dev/null " + denied + "; chown 1 /dev/null " + denied, ""},
		"no file of Pinion's beside its own": {[]func(*runtime.ContainerSpec){capable}, "mount -o remount,rw / " + denied + "; dmesg " + denied, ""},
	}
}

func TestRootOfAContainerIsNobodyOnItsHost(t *testing.T) {
	devices, withGPUs := withSimulatedGPUs(t, "4xh100")
	h := newHost(t, withGPUs).withBusybox()
	bridge, err := network.Open(networktest.Plugins(t), t.TempDir())
	must(t, err)
	t.Cleanup(func() { must(t, bridge.Close()) })
	for name, c := range userCases(devices[2].UUID) {
		t.Run(name, func(t *testing.T) {
			h := *h
			h.t = t
			if exit, out := h.run(append(c.change, withIDs(someIDs), sh(c.script))...); out != c.want {
				t.Errorf("it wrote %q, want %q (exit %+v)", out, c.want, exit)
			}
		})
	}
	t.Run("two tasks have different ids", func(t *testing.T) {
		one, other, plain := h.start(withIDs(someIDs), sh("exec sleep 1000")), h.start(withIDs(otherIDs), sh("exec sleep 1000")), h.start(sh("exec sleep 1000"))
		h.wantIDs(one, someIDs)
		h.wantIDs(other, otherIDs)
		if info, err := os.Stat(fmt.Sprintf("/proc/%d", h.pidOf(plain))); err != nil || info.Sys().(*syscall.Stat_t).Uid != 0 {
			t.Errorf("a task without user namespaces is not root: %v", err)
		}
		h.wantCommands(one)
	})
	t.Run("on the bridge", func(t *testing.T) {
		c := h.task(withIDs(someIDs), withControl, sh("ls /sys/class/net; ping -c 1 127.0.0.1 >/dev/null && echo pong; cat /proc/sys/net/core/somaxconn; nc -l -p 80 -w 1 2>/dev/null; exec sleep 1000"))
		attached, err := bridge.Attach(h.ctx(), runtime.AttachRequest{Mode: runtime.NetworkBridge, ID: c.ID, IDs: c.IDs})
		must(t, err)
		t.Cleanup(func() { must(t, bridge.Detach(context.Background(), c.ID)) })
		c.Network = attached.Namespace
		must(t, h.runtime.Start(h.ctx(), c))
		h.awaitLine(c, "1234")
		if out := h.output(c); !strings.HasPrefix(out, "eth0\nlo\npong\n1234\n") {
			t.Errorf("it wrote %q", out)
		}
		h.wantIDs(c, someIDs)
	})
	t.Run("not on the network of the host", func(t *testing.T) {
		err := h.runtime.Start(h.ctx(), h.task(withIDs(someIDs), func(c *runtime.ContainerSpec) { c.Network = "host" }))
		if err == nil || !strings.Contains(err.Error(), "networkMode host") {
			t.Errorf("it answers %v", err)
		}
	})
	h.removeAll()
	h.open()
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || bytes.Contains(mounts, []byte("ovl-idmapped")) || bytes.Contains(mounts, []byte(h.dir+"/runtime/volumes")) {
		t.Errorf("mounts are left: %v\n%s", err, mounts)
	}
}

// wantCommands checks that a command in the container is one of its user namespace, and that the container outlives its daemon.
func (h *host) wantCommands(c runtime.ContainerSpec) {
	h.t.Helper()
	pid := h.pidOf(c)
	var out bytes.Buffer
	code, err := h.runtime.Exec(h.ctx(), c.ID, runtime.ExecRequest{
		Cmd: []string{"sh", "-c", "awk '{print $2}' /proc/self/uid_map; echo out > /dev/stdout; touch /made; stat -c %u /made"}, Stdio: runtime.Stdio{Stdout: &out},
	})
	if want := fmt.Sprintf("%d\nout\n0\n", uint32(someIDs)); code != 0 || err != nil || out.String() != want {
		h.t.Errorf("a command returned %d, %v and wrote %q, want %q", code, err, &out, want)
	}
	before := h.daemonPID()
	must(h.t.(*testing.T), syscall.Kill(before, syscall.SIGKILL))
	h.awaitNewDaemon(before)
	h.runtime.Close()
	h.open()
	if again := h.pidOf(c); again != pid {
		h.t.Errorf("after a restart of containerd its process is %d, before %d", again, pid)
	}
	must(h.t.(*testing.T), h.runtime.Kill(h.ctx(), c.ID, syscall.SIGKILL))
	if exit := h.wait(c); exit.Code != 137 {
		h.t.Errorf("it ended with %+v", exit)
	}
}

func withMemory(c *runtime.ContainerSpec) {
	c.Def.LinuxParameters = &spec.LinuxParameters{SharedMemorySize: 8, Tmpfs: []spec.Tmpfs{{ContainerPath: "/mem", Size: 8, MountOptions: []string{"uid=1000", "mode=700"}}}}
}

func withControl(c *runtime.ContainerSpec) {
	c.Def.SystemControls = []spec.SystemControl{{Namespace: "net.core.somaxconn", Value: "1234"}}
}

func withGPU(uuid string) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) { c.GPUs = []string{uuid} }
}

// On the disk a file of a volume has the owner that it has in the container, so tasks with other ids, and those without user namespaces,
// see the same owners.
func TestFilesOfVolumesKeepTheirIDs(t *testing.T) {
	h := newHost(t).withBusybox()
	tree, scratch := hostTree(t), filepath.Join(t.TempDir(), "scratch")
	must(t, os.Mkdir(scratch, 0o777))
	must(t, os.Chmod(scratch, 0o777))
	must(t, os.WriteFile(tree+"/closed", []byte("closed\n"), 0o600))
	must(t, os.Chown(tree+"/closed", 1000, 1000))
	names := filepath.Join(t.TempDir(), "hosts")
	must(t, os.WriteFile(names, []byte("127.0.0.1 localhost\n"), 0o644))
	volumes := func(c *runtime.ContainerSpec) {
		c.Def.MountPoints = []spec.MountPoint{{SourceVolume: "v", ContainerPath: "/v"}, {SourceVolume: "s", ContainerPath: "/s"}, {SourceVolume: "v", ContainerPath: "/ro", ReadOnly: true}}
		c.Volumes = map[string]runtime.Volume{"v": {Host: hostVolume{path: tree}}, "s": {Path: scratch}}
		c.HostsFile = names
	}
	const root = `touch /v/root /v/below/root /s/root; stat -c %u /v/closed /etc/hosts; cat /v/closed /etc/hosts; echo more >> /etc/hosts; touch /ro/x 2>/dev/null && echo wrote; touch /v/0 && chown 70000 /v/0 2>/dev/null && echo gave; true`
	if exit, out := h.run(withIDs(someIDs), volumes, sh(root)); out != "1000\n0\nclosed\n127.0.0.1 localhost\n" {
		t.Errorf("root wrote %q, %+v", out, exit)
	}
	if exit, out := h.run(withIDs(otherIDs), volumes, asUser("1000:1000"), sh("cat /v/closed; touch /s/user; stat -c %u /v/root /s/root; cat /v/root && rm /v/root 2>/dev/null && echo removed; true")); out != "closed\n0\n0\n" {
		t.Errorf("another task's user wrote %q, %+v", out, exit)
	}
	if exit, out := h.run(volumes, sh("stat -c %u /v/root /s/root /s/user /v/below/root")); out != "0\n0\n1000\n0\n" {
		t.Errorf("a task without user namespaces wrote %q, %+v", out, exit)
	}
	for path, id := range map[string]uint32{tree + "/root": 0, tree + "/below/root": 0, scratch + "/root": 0, scratch + "/user": 1000} {
		wantOwner(t, path, id)
	}
	h.wantUntouched(tree)
}

// A file system that cannot show other ids is refused, and not mounted with the owners nobody.
func TestAVolumeThatCannotKeepItsIDsIsRefused(t *testing.T) {
	h := newHost(t).withBusybox()
	proc := filepath.Join(t.TempDir(), "proc")
	must(t, os.Mkdir(proc, 0o755))
	must(t, unix.Mount("proc", proc, "proc", 0, ""))
	t.Cleanup(func() { unix.Unmount(proc, unix.MNT_DETACH) })
	err := h.runtime.Start(h.ctx(), h.task(withIDs(someIDs), mounting(hostVolume{path: proc}, true), sh("true")))
	if err == nil || !strings.Contains(err.Error(), "ids of a user namespace") {
		t.Errorf("it answers %v", err)
	}
}

// A hook of a GPU's specification runs in the container's user namespace, and can read what it is to work on.
func TestHooksRunInTheUserNamespace(t *testing.T) {
	const kind = "test.pinion.dev/gpu"
	hook := `{"cdiVersion":"0.6.0","kind":"` + kind + `","devices":[{"name":"GPU-0","containerEdits":{"hooks":[{"hookName":"createContainer","path":"/bin/sh","args":["sh","-c",` +
		`"b=$(sed 's/.*\"bundle\":\"\\([^\"]*\\)\".*/\\1/'); awk '{print $2}' /proc/self/uid_map > $b/rootfs/hook; test -s $b/config.json && echo readable >> $b/rootfs/hook"],"env":["PATH=/bin:/usr/bin"]}]}}]}`
	h := newHost(t, func(c *containerd.Config) {
		c.CDI = func(context.Context) (string, []byte, error) { return kind, []byte(hook), nil }
	}).withBusybox()
	if exit, out := h.run(withIDs(someIDs), withGPU("GPU-0"), sh("cat /hook; stat -c %u /hook")); out != fmt.Sprintf("%d\nreadable\n0\n", uint32(someIDs)) {
		t.Errorf("it wrote %q, %+v", out, exit)
	}
}

// Root of a user namespace is a user of the host, and gets no further than these do.
func TestAClosedDataDirectoryHasNoUserNamespaces(t *testing.T) {
	h := newHost(t).withBusybox()
	must(t, os.Chmod(h.dir, 0o700))
	h.runtime.Close()
	h.open()
	if err := h.runtime.Features().NoUserNamespaces; err == nil || !strings.Contains(err.Error(), "chmod o+x "+h.dir) {
		t.Errorf("it can have user namespaces: %v", err)
	}
	if err := h.runtime.Start(h.ctx(), h.task(withIDs(someIDs), sh("true"))); err == nil {
		t.Error("a container with ids was started")
	}
	h.run(sh("true"))
}
