package doctor

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pinion/api/client"
	"pinion/node/containerd/cgroup"
)

var errLacking = errors.New("function not implemented")

// lacking takes one thing each away from a machine that lacks nothing.
var lacking = []struct {
	check string
	level Level
	word  string // in what was found
	lack  func(t *testing.T, h *Host)
}{
	{"kernel", Failed, "release", func(_ *testing.T, h *Host) { h.Machine.Release = func() (string, error) { return "", errLacking } }},
	{"cgroups", Failed, "memory controller", func(_ *testing.T, h *Host) {
		h.Machine.Cgroups = func() (cgroup.Manager, error) { return nil, errors.New("the memory controller is not mounted") }
	}},
	{"cgroups", Failed, "pids", func(_ *testing.T, h *Host) {
		h.Machine.Cgroups = func() (cgroup.Manager, error) { return groups{unified: true, swap: true}, nil }
	}},
	{"cgroups", Warning, "swap", func(_ *testing.T, h *Host) {
		h.Machine.Cgroups = func() (cgroup.Manager, error) { return groups{processes: true}, nil }
	}},
	{"overlayfs", Warning, "overlayfs", func(_ *testing.T, h *Host) { h.Machine.Overlay = noOverlay(false) }},
	{"openat2", Failed, "openat2", func(_ *testing.T, h *Host) { h.Machine.Openat2 = func() error { return errLacking } }},
	{"read-only mounts", Warning, "mount_setattr", func(_ *testing.T, h *Host) { h.Machine.RecursiveReadOnly = func() error { return errLacking } }},
	{"seccomp", Warning, "seccomp", func(t *testing.T, h *Host) { h.remove(t, "proc/sys/kernel/seccomp") }},
	{"user namespaces", Warning, "user namespaces", func(t *testing.T, h *Host) { h.put(t, "proc/sys/user/max_user_namespaces", "0\n") }},
	{"user namespaces", Warning, "5.19", func(_ *testing.T, h *Host) { h.Machine.Overlay = noOverlay(true) }},
	{"ulimits", Warning, "memlock", func(_ *testing.T, h *Host) { h.Machine.ShortUlimits = func() []string { return []string{"memlock"} } }},
	{"iptables", Warning, "iptables", func(_ *testing.T, h *Host) { h.Machine.Program = func(...string) error { return errLacking } }},
	{"gpu driver", Failed, "no driver", func(t *testing.T, h *Host) { h.remove(t, "proc/driver") }},
	{"gpu driver", Failed, "nouveau", func(t *testing.T, h *Host) { h.remove(t, "proc/driver"); h.put(t, "sys/module/nouveau/refcnt", "1") }},
	{"gpu driver", Failed, "550.54.15", func(t *testing.T, h *Host) { h.remove(t, "usr") }},
	{"gpu driver", Failed, "it was upgraded", func(t *testing.T, h *Host) {
		h.remove(t, "usr/lib64/libnvidia-ml.so.550.54.15")
		h.put(t, "usr/lib64/libnvidia-ml.so.580.1.2", "")
	}},
	{"gpu devices", Failed, "has 0 of them", func(t *testing.T, h *Host) { h.remove(t, "proc/driver/nvidia/gpus") }},
	{"gpu devices", Failed, "/dev/nvidia-uvm", func(t *testing.T, h *Host) { h.remove(t, "dev/nvidia-uvm") }},
	{"gpu links", Warning, "8 PCIe lanes of 16", func(t *testing.T, h *Host) { h.put(t, "sys/bus/pci/devices/0000:17/current_link_width", "8") }},
	{"gpu links", Warning, "the IOMMU translates the addresses of 2 GPUs", func(t *testing.T, h *Host) {
		h.remove(t, "sys/bus/pci/devices/0000:3a")
		h.put(t, "sys/bus/pci/devices/0000:17/iommu_group/type", "DMA-FQ")
		h.put(t, "sys/bus/pci/devices/0000:18/iommu_group/type", "DMA")
		h.put(t, "sys/bus/pci/devices/0000:18/vendor", "0x10de")
		h.put(t, "sys/bus/pci/devices/0000:18/class", "0x030200")
		h.put(t, "proc/driver/nvidia/gpus/0000:18/information", "")
	}},
	{"gpu fabric", Failed, "Fabric Manager", func(t *testing.T, h *Host) { h.remove(t, "proc/17") }},
	{"gpu sharing", Warning, "not Pinion's", func(t *testing.T, h *Host) { h.put(t, "tmp/nvidia-mps/control", "") }},
	{"gpu persistence", Warning, "off", func(_ *testing.T, h *Host) {
		h.Machine.Persistence = func(context.Context) (string, error) { return "Enabled\nDisabled\n", nil }
	}},
	{"gpu persistence", Warning, "off", func(_ *testing.T, h *Host) {
		h.Machine.Persistence = func(context.Context) (string, error) { return "", errLacking }
	}},
	{"disk room", Failed, "no image", func(_ *testing.T, h *Host) {
		h.Machine.Disk = func(string) (Disk, error) { return Disk{Size: 1 << 40, Free: 1 << 29}, nil }
	}},
	{"disk room", Warning, "free", func(_ *testing.T, h *Host) {
		h.Machine.Disk = func(string) (Disk, error) { return Disk{Size: 1 << 40, Free: 3 << 30}, nil }
	}},
	{"disk room", Warning, "inodes", func(_ *testing.T, h *Host) {
		h.Machine.Disk = func(string) (Disk, error) { return Disk{Size: 1 << 40, Free: 1 << 39, Files: 100, Spare: 4}, nil }
	}},
	{"disk type", Failed, "network", func(_ *testing.T, h *Host) {
		h.Machine.Disk = func(string) (Disk, error) { return Disk{Size: 1 << 40, Free: 1 << 39, Type: unix.NFS_SUPER_MAGIC}, nil }
	}},
	{"disk type", Warning, "memory", func(_ *testing.T, h *Host) {
		h.Machine.Disk = func(string) (Disk, error) { return Disk{Size: 1 << 40, Free: 1 << 39, Type: unix.TMPFS_MAGIC}, nil }
	}},
	{"disk sync", Failed, "synced", func(_ *testing.T, h *Host) {
		h.Machine.Sync = func(string) (time.Duration, error) { return 0, errLacking }
	}},
	{"disk sync", Warning, "300ms", func(_ *testing.T, h *Host) {
		h.Machine.Sync = func(string) (time.Duration, error) { return 300 * time.Millisecond, nil }
	}},
	{"data directory", Failed, "0755", func(t *testing.T, h *Host) { chmod(t, h.DataDir, 0o755) }},
	{"data directory", Failed, "seal.key", func(t *testing.T, h *Host) { chmod(t, filepath.Join(h.DataDir, "seal.key"), 0o640) }},
	{"data directory", Failed, "host.pem", func(t *testing.T, h *Host) { chmod(t, filepath.Join(h.DataDir, "pki/host.pem"), 0o604) }},
	{"data directory", Failed, "keys in clear", func(t *testing.T, h *Host) {
		write(t, filepath.Join(h.DataDir, "unlock.age"), "age-encryption.org/v1\n")
	}},
	{"data directory", Failed, "no data directory", func(t *testing.T, h *Host) {
		h.stopped(t)
		if err := os.Remove(filepath.Join(h.DataDir, "pinion.json")); err != nil {
			t.Fatal(err)
		}
	}},
	{"leftovers", Warning, "data directory", func(t *testing.T, h *Host) {
		h.stopped(t)
		h.DataDir = t.TempDir()
		chmod(t, h.DataDir, 0o700)
		h.put(t, "sys/fs/cgroup/pinion/task/cgroup.procs", "17")
	}},
	{"port", Failed, "in use", func(t *testing.T, h *Host) {
		h.stopped(t)
		h.Machine.Bind = func(string) error { return errors.New("address already in use") }
	}},
	{"pool", Failed, "does not answer", func(_ *testing.T, h *Host) {
		h.Machine.Hosts = func(context.Context) ([]client.Host, error) { return nil, client.ErrUnreachable }
	}},
	{"pool", Warning, "gpu-2", func(_ *testing.T, h *Host) { h.hosts(client.Host{Name: "gpu-2"}) }},
	{"pool", Warning, "NVML", func(_ *testing.T, h *Host) {
		h.hosts(client.Host{Connected: true, GPUs: client.Inventory{Problem: "NVML does not load"}})
	}},
	{"pool", Warning, "Xid 79", func(_ *testing.T, h *Host) {
		h.hosts(client.Host{Connected: true, GPUs: client.Inventory{Devices: []client.Device{{Health: "UNHEALTHY", Problem: "Xid 79"}}}})
	}},
	{"pool", Warning, "no host holds the virtual IP 10.0.0.100", func(_ *testing.T, h *Host) {
		h.hosts(client.Host{Connected: true, VirtualIPs: []client.VirtualIP{{IP: "10.0.0.100"}}})
	}},
	{"pool", Warning, "in use", func(_ *testing.T, h *Host) {
		h.hosts(client.Host{Connected: true, VirtualIPs: []client.VirtualIP{{IP: "10.0.0.100", Held: true, Problem: "in use"}}})
	}},
	{"other hosts", Failed, "refused", func(_ *testing.T, h *Host) {
		h.Machine.Date = func(context.Context, string) (time.Time, error) { return time.Time{}, errors.New("connection refused") }
	}},
	{"other hosts", Failed, "name", func(_ *testing.T, h *Host) {
		h.Machine.Date = func(context.Context, string) (time.Time, error) { return time.Time{}, &net.DNSError{Name: "gpu-2"} }
	}},
	{"clock sync", Warning, "synchronised", func(_ *testing.T, h *Host) { h.Machine.ClockSynced = func() (bool, error) { return false, nil } }},
	{"clock offset", Failed, "-1m0s", func(_ *testing.T, h *Host) {
		h.Machine.Date = func(context.Context, string) (time.Time, error) { return now.Add(time.Minute), nil }
	}},
	{"containerd", Failed, "containerd.sock", func(_ *testing.T, h *Host) {
		h.Machine.Containerd = func(context.Context, string) (string, error) { return "", errLacking }
	}},
	{"registries", Failed, "certs.d", func(_ *testing.T, h *Host) {
		h.Machine.Registries = func(context.Context, string) ([]Registry, error) { return nil, errors.New("certs.d: bad TOML") }
	}},
	{"registries", Warning, "x509", func(_ *testing.T, h *Host) {
		h.Machine.Ask = func(context.Context, *http.Client, string) error { return errors.New("x509: unknown authority") }
	}},
}

// One check finds what is lacking, with what to do, and no other does.
func TestEachCheckFindsWhatAMachineLacks(t *testing.T) {
	for _, c := range lacking {
		t.Run(c.check+" "+c.word, func(t *testing.T) {
			h := soundHost(t)
			c.lack(t, h)
			bad := slices.DeleteFunc(Examine(t.Context(), h), func(f Finding) bool { return f.Level == OK })
			if len(bad) == 0 {
				t.Fatal("nothing is found")
			}
			for _, f := range bad {
				if f.Check != c.check || f.Level != c.level || !strings.Contains(f.Found, c.word) || f.Do == "" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// A host that starts is told of its clock, its disk and, when they are the driver's, its GPUs.
func TestAStartMakesSomeChecks(t *testing.T) {
	h := soundHost(t)
	h.remove(t, "proc/driver/nvidia/gpus")
	h.remove(t, "proc/sys/kernel/seccomp")
	h.Machine.ClockSynced = func() (bool, error) { return false, nil }
	for gpus, want := range map[bool]string{true: "gpu devices, clock sync", false: "clock sync"} {
		var got []string
		for _, f := range ExamineStart(t.Context(), h, gpus) {
			if f.Level != OK {
				got = append(got, f.Check)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("with GPUs of the driver %t: %v, want %s", gpus, got, want)
		}
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// hosts makes the pool one of this host.
func (h *Host) hosts(one client.Host) {
	one.Address = "gpu-2:7400"
	h.Machine.Hosts = func(context.Context) ([]client.Host, error) { return []client.Host{one}, nil }
}

func TestASoundMachineIsSound(t *testing.T) {
	for name, change := range map[string]func(h *Host){
		"pinion runs":       func(*Host) {},
		"pinion is stopped": func(h *Host) { h.stopped(t) },
		"pinion never ran":  func(h *Host) { h.stopped(t); h.DataDir = filepath.Join(t.TempDir(), "not", "yet") },
		"it has no GPU": func(h *Host) {
			h.remove(t, "proc/driver")
			h.remove(t, "sys/bus")
		},
		"it joins a pool": func(h *Host) { h.stopped(t); h.DataDir, h.Join = filepath.Join(t.TempDir(), "new"), "gpu-1:7400" },
	} {
		t.Run(name, func(t *testing.T) {
			h := soundHost(t)
			change(h)
			found := Examine(t.Context(), h)
			if len(found) < len(checks) {
				t.Errorf("%d findings of %d checks", len(found), len(checks))
			}
			for _, f := range found {
				if f.Level != OK || f.Do != "" || f.Found == "" {
					t.Errorf("%+v", f)
				}
			}
		})
	}
}

// A host that does not run knows the others by what it has written down, and leaves itself out.
func TestAStoppedHostAsksTheHostsThatItKnows(t *testing.T) {
	h := soundHost(t)
	h.stopped(t)
	h.Join = "gpu-9:7400"
	if got, err := h.peers(t.Context()); err != nil || !slices.Equal(got, []string{"gpu-2:7400", "gpu-3:7400", "gpu-9:7400"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// This machine is examined for real: every check comes to an answer, and says what to do about what is not well.
func TestThisMachineIsExamined(t *testing.T) {
	pinion, err := client.New(client.Config{Socket: filepath.Join(t.TempDir(), "pinion.sock")})
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{DataDir: filepath.Join(t.TempDir(), "new"), Listen: "127.0.0.1:0", MinFree: func(int64) int64 { return 1 }, Machine: ThisMachine(pinion)}
	h.Machine.Ask = func(context.Context, *http.Client, string) error { return nil } // tests have no internet
	found := Examine(t.Context(), h)
	for _, c := range checks {
		if !slices.ContainsFunc(found, func(f Finding) bool { return f.Check == c.name && f.Found != "" && (f.Do == "") == (f.Level == OK) }) {
			t.Errorf("%s has no answer: %+v", c.name, found)
		}
	}
	if _, err := os.Stat(h.DataDir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the data directory was made")
	}
}
