package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestGroupMountsAreFound(t *testing.T) {
	got := parseGroupMounts("31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n" +
		"32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
		"40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n")
	for controller, want := range map[string]string{
		"cpu": "/sys/fs/cgroup/cpu,cpuacct", "cpuacct": "/sys/fs/cgroup/cpu,cpuacct",
		"name=systemd": "/sys/fs/cgroup/systemd", "": "/sys/fs/cgroup/unified",
	} {
		if got[controller] != want {
			t.Errorf("%q is at %q, want %q", controller, got[controller], want)
		}
	}
}

func TestSharesBecomeWeights(t *testing.T) {
	for shares, want := range map[int64]int64{2: 1, 1024: 39, 262144: 10000, 1 << 30: 10000} {
		if got := cpuWeight(shares); got != want {
			t.Errorf("%d: %d, want %d", shares, got, want)
		}
	}
}

func TestThePeakMemoryIsThatOfTheKernel(t *testing.T) {
	dir := t.TempDir()
	for version, c := range map[string]struct {
		manager Manager
		file    string
	}{
		"1": {v1{mounts: map[string]string{"memory": dir}}, "memory.max_usage_in_bytes"},
		"2": {v2{root: dir}, "memory.peak"},
	} {
		group := "/pinion/t" + version
		if got := c.manager.PeakMemory(group); got != 0 {
			t.Errorf("version %s, a kernel that does not tell: %d", version, got)
		}
		if err := os.MkdirAll(dir+group, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir+group, c.file), []byte("33554432\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := c.manager.PeakMemory(group); got != 32<<20 {
			t.Errorf("version %s: %d", version, got)
		}
	}
}

func TestWhatAGroupUsesIsWhatTheKernelCannotDrop(t *testing.T) {
	dir := t.TempDir()
	for version, c := range map[string]struct {
		manager Manager
		files   map[string]string
	}{
		"1": {v1{mounts: map[string]string{"memory": dir, "cpu": dir}}, map[string]string{
			"memory.usage_in_bytes": "9000\n", "memory.stat": "inactive_file 1\ntotal_inactive_file 2000\n", "cpuacct.usage": "5000000000\n"}},
		"2": {v2{root: dir}, map[string]string{"memory.current": "9000\n", "memory.stat": "anon 1\ninactive_file 2000\n", "cpu.stat": "usage_usec 5000000\nuser_usec 1\n"}},
	} {
		group := "/pinion/u" + version
		if _, _, ok := c.manager.Usage(group); ok {
			t.Errorf("version %s: a group that is not there uses something", version)
		}
		if err := os.MkdirAll(dir+group, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir+group, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if cpu, memory, ok := c.manager.Usage(group); !ok || cpu != 5*time.Second || memory != 7000 {
			t.Errorf("version %s: %s, %d, %v", version, cpu, memory, ok)
		}
	}
}

func TestBlockIOIsThatOfAllDevices(t *testing.T) {
	dir := t.TempDir()
	for version, c := range map[string]struct {
		manager       Manager
		file, content string
	}{
		"1": {v1{mounts: map[string]string{"blkio": dir}}, "blkio.throttle.io_service_bytes", "8:0 Read 10\n8:0 Write 20\n8:0 Total 30\n8:16 Read 1\n8:16 Write 2\nTotal 33\n"},
		"2": {v2{root: dir}, "io.stat", "8:0 rbytes=10 wbytes=20 rios=1 wios=1 dbytes=9 dios=9\n8:16 rbytes=1 wbytes=2 rios=1 wios=1\n"},
	} {
		group := "/pinion/t" + version
		if _, _, ok := c.manager.BlockIO(group); ok {
			t.Errorf("version %s: a kernel that does not tell", version)
		}
		if err := os.MkdirAll(dir+group, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir+group, c.file), []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		if read, written, ok := c.manager.BlockIO(group); read != 11 || written != 22 || !ok {
			t.Errorf("version %s: %d %d %v", version, read, written, ok)
		}
	}
	if _, _, ok := (v1{mounts: map[string]string{}}).BlockIO("/"); ok {
		t.Error("a machine without the controller")
	}
}
