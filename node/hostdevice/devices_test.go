package hostdevice

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
	"pinion/raftfsm/linux"
)

// dir makes a directory below /dev for nodes and links of a test.
func dir(t *testing.T) string {
	t.Helper()
	path, err := os.MkdirTemp("/dev", "pinion-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(path) })
	return path
}

func node(t *testing.T, path string, mode, major, minor uint32) {
	t.Helper()
	if err := unix.Mknod(path, mode|0o600, int(unix.Mkdev(major, minor))); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, path, target string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func allowed(t *testing.T, given ...string) *Allowed {
	t.Helper()
	a, err := Open("gpu-1", given, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a.gpus = func(major uint32) bool { return major == 195 || major == 510 } // 510: the number of nvidia-uvm is given when its driver is loaded
	return a
}

func TestAContainerHasTheDevicesThatItsHostGives(t *testing.T) {
	at := dir(t)
	node(t, at+"/fuse", unix.S_IFCHR, 10, 229)
	if err := os.Mkdir(at+"/infiniband", 0o755); err != nil {
		t.Fatal(err)
	}
	node(t, at+"/infiniband/uverbs0", unix.S_IFCHR, 231, 192)
	node(t, at+"/infiniband/umad0", unix.S_IFCHR, 231, 0)
	node(t, at+"/infiniband/disk", unix.S_IFBLK, 7, 250)
	link(t, at+"/infiniband/link", "/dev/null")
	link(t, at+"/by-name", "fuse")
	a := allowed(t, at+"/fuse", at+"/infiniband", at+"/by-name")
	fuse := runtime.Device{Path: at + "/fuse", Major: 10, Minor: 229, Access: "rwm", Mode: 0o600}
	for name, c := range map[string]struct {
		asked linux.Device
		want  []runtime.Device
	}{
		"a device":                       {linux.Device{HostPath: at + "/fuse"}, []runtime.Device{fuse}},
		"at another path":                {linux.Device{HostPath: at + "/fuse", ContainerPath: "/dev/x", Permissions: []string{"read"}}, []runtime.Device{{Path: "/dev/x", Major: 10, Minor: 229, Access: "r", Mode: 0o600}}},
		"one of a directory":             {linux.Device{HostPath: at + "/infiniband/umad0"}, []runtime.Device{{Path: at + "/infiniband/umad0", Major: 231, Access: "rwm", Mode: 0o600}}},
		"a directory":                    {linux.Device{HostPath: at + "/infiniband", ContainerPath: "/dev/ib"}, []runtime.Device{{Path: "/dev/ib/umad0", Major: 231, Access: "rwm", Mode: 0o600}, {Path: "/dev/ib/uverbs0", Major: 231, Minor: 192, Access: "rwm", Mode: 0o600}}},
		"a link that the operator names": {linux.Device{HostPath: at + "/by-name", ContainerPath: at + "/fuse"}, []runtime.Device{fuse}},
	} {
		if got, err := a.Find(c.asked); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

// Neither a name, a path, a link nor a node of another name is a way to a device that the host does not give, or to a GPU.
func TestNoPathLeadsToOtherDevices(t *testing.T) {
	at := dir(t)
	if err := os.Mkdir(at+"/given", 0o755); err != nil {
		t.Fatal(err)
	}
	node(t, at+"/other", unix.S_IFCHR, 10, 229)
	node(t, at+"/given/gpu", unix.S_IFCHR, 195, 0)
	node(t, at+"/given/uvm", unix.S_IFCHR, 510, 0)
	node(t, at+"/given/memory", unix.S_IFCHR, 1, 1)
	node(t, at+"/given/disk", unix.S_IFBLK, 7, 250)
	link(t, at+"/given/out", "../other")
	link(t, at+"/given/null", "/dev/null")
	link(t, at+"/given/magic", "/proc/self/root/dev/null")
	link(t, at+"/given/etc", "/etc/shadow")
	if err := os.WriteFile(at+"/given/file", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a := allowed(t, at+"/given", at+"/gone")
	for _, path := range []string{
		"/dev/fuse", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-caps/nvidia-cap1", "/dev/dri/renderD128", "/dev/vfio/1", "/dev/mem", "/dev", "/etc/shadow", "",
		at + "/given/../other", at + "/given/out", at + "/given/null", at + "/given/magic", at + "/given/etc", at + "/given/file",
		at + "/given/gpu", at + "/given/uvm", at + "/given/memory", at + "/given/disk", at + "/given", at + "/other", at + "/given2", at + "/gone",
	} {
		if got, err := a.Find(linux.Device{HostPath: path}); err == nil {
			t.Errorf("%s: the container gets %+v", path, got)
		} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "gpu-1") {
			t.Errorf("%s: the message does not name the device and the host: %v", path, err)
		}
	}
	// The named device was not there when the host started; a link in its place is not followed.
	link(t, at+"/gone", "other")
	if got, err := a.Find(linux.Device{HostPath: at + "/gone"}); err == nil {
		t.Errorf("a link that came later gives %+v", got)
	}
}

// A link that the operator names stands for what it leads to when the host starts.
func TestALinkThatMovesIsNotFollowed(t *testing.T) {
	at := dir(t)
	node(t, at+"/one", unix.S_IFCHR, 10, 229)
	node(t, at+"/two", unix.S_IFCHR, 10, 200)
	link(t, at+"/named", "one")
	a := allowed(t, at+"/named")
	if got, err := a.Find(linux.Device{HostPath: at + "/named"}); err != nil || got[0].Minor != 229 {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := os.Remove(at + "/named"); err != nil {
		t.Fatal(err)
	}
	link(t, at+"/named", "two")
	if got, err := a.Find(linux.Device{HostPath: at + "/named"}); err == nil || !strings.Contains(err.Error(), "--device "+at+"/two") {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestADiskThatTheHostHasMountedIsNotGiven(t *testing.T) {
	mounted, err := mountedDisks()
	if err != nil || mounted == nil {
		t.Fatal(err)
	}
	a := allowed(t, "/dev/pinion-disk")
	mountedDevice, where := "", ""
	for number, at := range mounted {
		if !strings.HasPrefix(number, "0:") {
			mountedDevice, where = number, at
		}
	}
	major, minor, _ := strings.Cut(mountedDevice, ":")
	if mountedDevice == "" {
		major, minor, where = "0", "0", "" // a machine without a disk of its own: nothing to compare with but the first lines
	}
	err = a.checkBlock("/dev/pinion-disk", number(major), number(minor))
	if where != "" && (err == nil || !strings.Contains(err.Error(), "is mounted at")) {
		t.Errorf("the disk of %s: %v", where, err)
	}
	if err := a.checkBlock("/dev/elsewhere", 7, 250); err == nil || !strings.Contains(err.Error(), "--device /dev/elsewhere") {
		t.Errorf("a disk that is not named itself: %v", err)
	}
	if err := a.checkBlock("/dev/pinion-disk", 7, 250); err != nil {
		t.Errorf("a disk that is not mounted: %v", err)
	}
}

// TestADiskIsFollowedToWhatIsMounted: LVM over LUKS over a partition, as in /sys/dev/block.
func TestADiskIsFollowedToWhatIsMounted(t *testing.T) {
	sys := t.TempDir()
	for path, number := range map[string]string{
		"8:0/sda3/dev": "8:3", "8:3/holders/dm-0/dev": "253:0", "253:0/holders/dm-1/dev": "253:1", "253:0/holders/dm-2/dev": "253:2", "253:1/holders/odd/dev": "8:0",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(sys, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(sys, path), []byte(number+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := partitions(sys, "8:0")
	if want := []string{"8:3", "253:0", "253:1", "253:2"}; !slices.Equal(got, want) || err != nil {
		t.Errorf("%v, want %v, %v", got, want, err)
	}
}

func number(text string) (n uint32) {
	for _, digit := range text {
		n = n*10 + uint32(digit-'0')
	}
	return n
}

func TestDevicesThatAnOperatorCannotGive(t *testing.T) {
	at := dir(t)
	link(t, at+"/out", "/etc/passwd")
	link(t, at+"/memory", "/dev/mem")
	for _, path := range []string{"/dev", "fuse", "/etc/passwd", "/dev/nvidia0", "/dev/mem", at + "/out", filepath.Join(at, "memory")} {
		if path == at+"/memory" {
			if _, err := os.Lstat("/dev/mem"); err != nil {
				continue // it leads nowhere, and is refused when a task asks
			}
		}
		if _, err := Open("gpu-1", []string{path}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "--device "+path) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestGPUsAreKnownByTheirDriver(t *testing.T) {
	const drivers = "Character devices:\n  1 mem\n 10 misc\n195 nvidia\n195 nvidiactl\n226 drm\n234 nvidia-nvswitch\n235 nvidia-caps\n510 nvidia-uvm\n511 vfio\n240 infiniband\n\nBlock devices:\n  8 sd\n236 nvidia-x\n"
	for major, want := range map[uint32]bool{1: false, 10: false, 240: false, 8: false, 236: false, 195: true, 226: true, 234: true, 235: true, 510: true, 511: true} {
		if ofGPUDriver(drivers, major) != want {
			t.Errorf("%d", major)
		}
	}
	if !isGPU(195) || !isGPU(226) || isGPU(1) {
		t.Error("the numbers that are always those of GPUs")
	}
}
