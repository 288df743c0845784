package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/api/client"
	"pinion/node/containerd/cgroup"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// groups are control groups with what tests take away.
type groups struct {
	cgroup.Manager
	unified, processes, swap bool
}

func (g groups) Unified() bool           { return g.unified }
func (g groups) CanLimitProcesses() bool { return g.processes }
func (g groups) CanLimitSwap() bool      { return g.swap }

// soundHost is a host on a machine that lacks nothing: two GPUs with NVSwitches, a pool of two hosts, and one mirror.
func soundHost(t *testing.T) *Host {
	h := &Host{
		DataDir: filepath.Join(t.TempDir(), "pinion"), Listen: ":7400", MinFree: func(int64) int64 { return 1 << 30 },
		Machine: Machine{
			Root: t.TempDir(), User: os.Geteuid, Release: func() (string, error) { return "6.8.0", nil },
			Cgroups: func() (cgroup.Manager, error) { return groups{unified: true, processes: true, swap: true}, nil },
			Overlay: func(string, bool) error { return nil }, Openat2: nothing, RecursiveReadOnly: nothing,
			ShortUlimits: func() []string { return nil }, Program: func(...string) error { return nil },
			Persistence: func(context.Context) (string, error) { return "Enabled\nEnabled\n", nil },
			Disk:        func(string) (Disk, error) { return Disk{Size: 1 << 40, Free: 1 << 39, Files: 100, Spare: 90}, nil },
			Sync:        func(string) (time.Duration, error) { return time.Millisecond, nil },
			ClockSynced: func() (bool, error) { return true, nil }, Now: func() time.Time { return now },
			Bind: func(string) error { return nil },
			Hosts: func(context.Context) ([]client.Host, error) {
				return []client.Host{{Name: "gpu-1", Address: "gpu-1:7400", Connected: true}, {Name: "gpu-2", Address: "gpu-2:7400", Connected: true}}, nil
			},
			Date:       func(context.Context, string) (time.Time, error) { return now.Add(time.Second), nil },
			Containerd: func(context.Context, string) (string, error) { return "containerd 2.4.2", nil },
			Registries: func(context.Context, string) ([]Registry, error) {
				return []Registry{{"docker.io", "https://mirror/v2/", nil}}, nil
			},
			Ask: func(context.Context, *http.Client, string) error { return nil },
		},
	}
	for path, text := range map[string]string{
		"proc/sys/kernel/seccomp/actions_avail": "kill_process trap errno", "proc/sys/user/max_user_namespaces": "1000",
		"proc/driver/nvidia/version":                  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build",
		"usr/lib64/libnvidia-ml.so.1":                 "",
		"usr/lib64/libnvidia-ml.so.550.54.15":         "",
		"proc/driver/nvidia/gpus/0000:17/information": "", "dev/nvidiactl": "", "dev/nvidia-uvm": "",
		"sys/bus/pci/devices/0000:17/current_link_width": "16", "sys/bus/pci/devices/0000:17/max_link_width": "16",
		"proc/17/comm":                       "nv-fabricmanage",
		"sys/bus/pci/devices/0000:17/vendor": "0x10de", "sys/bus/pci/devices/0000:17/class": "0x030200",
		"sys/bus/pci/devices/0000:3a/vendor": "0x10de", "sys/bus/pci/devices/0000:3a/class": "0x068000",
	} {
		h.put(t, path, text)
	}
	h.ran(t)
	return h
}

func nothing() error { return nil }

// put writes a file of the machine.
func (h *Host) put(t *testing.T, path, text string) {
	write(t, filepath.Join(h.Machine.Root, path), text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o711), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func (h *Host) remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(filepath.Join(h.Machine.Root, path)); err != nil {
		t.Fatal(err)
	}
}

// ran makes the data directory that of a host whose pinion runs.
func (h *Host) ran(t *testing.T) {
	for name, text := range map[string]string{
		"pinion.json": "{}", "lock": "17", "client.json": "{}", "seal.key": "", "pki/host.pem": "", "containerd/containerd.sock": "", "address": "gpu-1:7400",
		"servers.json": `{"pool":"p","servers":["gpu-1:7400","gpu-2:7400"],"hosts":["gpu-3:7400"]}`,
	} {
		write(t, filepath.Join(h.DataDir, name), text)
	}
	var stat unix.Stat_t
	if err := unix.Stat(filepath.Join(h.DataDir, "lock"), &stat); err != nil {
		t.Fatal(err)
	}
	h.put(t, "proc/locks", fmt.Sprintf("1: FLOCK  ADVISORY  WRITE 17 fe:00:%d 0 EOF\n", stat.Ino))
}

// stopped makes the host one whose pinion does not run.
func (h *Host) stopped(t *testing.T) {
	h.remove(t, "proc/locks")
	h.Machine.Hosts = func(context.Context) ([]client.Host, error) { return nil, errors.New("nobody is there") }
}

// noOverlay is a machine that mounts no overlay with the ids of a user namespace, or none without them.
func noOverlay(userNamespace bool) func(string, bool) error {
	return func(_ string, with bool) error {
		if with == userNamespace {
			return errLacking
		}
		return nil
	}
}
