package containerd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/containerd"
	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// hostVolume is a file or directory of the host; opened is called after it was opened and before it is mounted.
type hostVolume struct {
	path   string
	opened func()
}

func (v hostVolume) Open() (*os.File, error) {
	fd, err := unix.Open(v.path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if v.opened != nil {
		v.opened()
	}
	return os.NewFile(uintptr(fd), v.path), nil
}

// mounting mounts a volume of the host at /v.
func mounting(v runtime.HostVolume, readOnly bool) func(*runtime.ContainerSpec) {
	return func(c *runtime.ContainerSpec) {
		c.Def.MountPoints = []spec.MountPoint{{SourceVolume: "v", ContainerPath: "/v", ReadOnly: readOnly}}
		c.Volumes = map[string]runtime.Volume{"v": {Host: v}}
	}
}

// hostTree is a directory with a file, on a mount that the host shares with others as systemd has it, and a mount below it.
func hostTree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	below := filepath.Join(dir, "below")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, unix.Mount("tmpfs", dir, "tmpfs", 0, ""))
	t.Cleanup(func() { unix.Unmount(dir, unix.MNT_DETACH) })
	must(t, unix.Mount("", dir, "", unix.MS_SHARED, ""))
	must(t, os.Mkdir(below, 0o755))
	must(t, unix.Mount("tmpfs", below, "tmpfs", 0, ""))
	must(t, os.WriteFile(filepath.Join(dir, "file"), []byte("mine\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(below, "file"), []byte("mine too\n"), 0o644))
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wantUntouched checks that a start left neither a mount of Pinion's nor a change to the host's mounts.
func (h *host) wantUntouched(tree string) {
	h.t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		h.t.Fatal(err)
	}
	if staging := filepath.Join(h.config.Dir, "volumes"); strings.Contains(string(mounts), staging) {
		h.t.Errorf("a mount is left below %s:\n%s", staging, mounts)
	} else if left, _ := os.ReadDir(staging); len(left) > 0 {
		h.t.Errorf("left in %s: %v", staging, left)
	}
	for _, path := range []string{tree + "/file", tree + "/below/file"} {
		if _, err := os.Stat(path); err != nil {
			h.t.Errorf("the host has lost a file: %v", err)
		}
	}
	if !strings.Contains(string(mounts), " "+tree+"/below ") {
		h.t.Errorf("the host has lost the mount below %s", tree)
	}
}

func TestAVolumeToReadIsReadOnlyAllTheWayDown(t *testing.T) {
	h := newHost(t).withBusybox()
	tree := hostTree(t)
	const script = `cat /v/file /v/below/file; for f in /v/x /v/below/x; do touch $f 2>/dev/null && echo wrote $f; done; mount -o remount,bind,rw /v/below 2>/dev/null && echo remounted; true`
	if exit, out := h.run(sh(script), mounting(hostVolume{path: tree}, true)); out != "mine\nmine too\n" {
		t.Errorf("to read: %q, %+v", out, exit)
	}
	h.wantUntouched(tree)
	if exit, out := h.run(sh(script), mounting(hostVolume{path: tree}, false)); out != "mine\nmine too\nwrote /v/x\nwrote /v/below/x\n" {
		t.Errorf("to write: %q, %+v", out, exit)
	}
	h.wantUntouched(tree)
	if exit, out := h.run(sh("cat /v; (echo more > /v) 2>/dev/null || echo refused"), mounting(hostVolume{path: tree + "/file"}, true)); out != "mine\nrefused\n" {
		t.Errorf("a file: %q, %+v", out, exit)
	}
	h.wantUntouched(tree)
}

// The directory becomes a link to somewhere else between the check and the mount: what was checked is mounted.
func TestWhatWasOpenedIsWhatIsMounted(t *testing.T) {
	h := newHost(t).withBusybox()
	base := t.TempDir()
	checked, elsewhere := filepath.Join(base, "checked"), filepath.Join(base, "elsewhere")
	for _, dir := range []string{checked, elsewhere} {
		must(t, os.Mkdir(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "file"), []byte(filepath.Base(dir)+"\n"), 0o644))
	}
	swap := func() {
		must(t, os.Rename(checked, checked+".old"))
		must(t, os.Symlink(elsewhere, checked))
	}
	if exit, out := h.run(sh("cat /v/file"), mounting(hostVolume{checked, swap}, false)); out != "checked\n" {
		t.Errorf("it sees %q, %+v", out, exit)
	}
}

// A host that died in the middle of a start clears up when it starts again, and takes nothing of the host's with it.
func TestMountsOfAStartThatWasCutShortAreRemoved(t *testing.T) {
	h := newHost(t).withBusybox()
	tree := hostTree(t)
	point := filepath.Join(h.config.Dir, "volumes", "dead.main", "0")
	must(t, os.MkdirAll(point, 0o700))
	must(t, unix.Mount(tree, point, "", unix.MS_BIND|unix.MS_REC, "")) // shared with the host, as before it is made private
	must(t, os.WriteFile(filepath.Join(h.config.Dir, "volumes", "dead.main", "1"), nil, 0o600))
	h.open()
	h.wantUntouched(tree)
}

func TestAFailedStartLeavesNoMount(t *testing.T) {
	h := newHost(t).withBusybox()
	tree := hostTree(t)
	c := h.task(func(c *runtime.ContainerSpec) { c.Def.Command = []string{"/nothing"} }, mounting(hostVolume{path: tree}, false))
	if err := h.runtime.Start(h.ctx(), c); err == nil {
		t.Error("it started")
	}
	h.wantUntouched(tree)
}

func TestTheNumberOfProcessesIsLimited(t *testing.T) {
	h := newHost(t, func(c *containerd.Config) { c.Limits.Processes = 8 }).withBusybox()
	exit, out := h.run(sh("i=0; while [ $i -lt 20 ]; do sleep 100 & i=$((i+1)); done 2>&1; echo all"))
	if !strings.Contains(out, "can't fork") || strings.Contains(out, "all") {
		t.Errorf("it wrote %q, %+v", out, exit)
	}
	devices, withGPUs := withSimulatedGPUs(t, "2xh100")
	h = newHost(t, withGPUs, func(c *containerd.Config) { c.Limits.Processes = 8 }).withBusybox()
	if exit, out := h.run(sh("i=0; while [ $i -lt 12 ]; do usleep 1000 & i=$((i+1)); done 2>&1; echo all"), func(c *runtime.ContainerSpec) {
		c.GPUs = []string{devices[0].UUID, devices[1].UUID}
	}); out != "all\n" {
		t.Errorf("with two GPUs it wrote %q, %+v", out, exit)
	}
}

func TestNoNewPrivileges(t *testing.T) {
	const script = "grep NoNewPrivs /proc/self/status | cut -f2"
	runContainerCases(t, map[string]containerCase{
		"not unless asked for": {nil, script, "0\n"},
		"as asked for":         {func(c *runtime.ContainerSpec) { c.Def.DockerSecurityOptions = []string{"no-new-privileges"} }, script, "1\n"},
	})
	h := newHost(t, func(c *containerd.Config) { c.Limits.NoNewPrivileges = true }).withBusybox()
	if exit, out := h.run(sh(script)); out != "1\n" {
		t.Errorf("as the host has it: %q, %+v", out, exit)
	}
}
