package sim

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"pinion/gpu"
)

func TestARestartFindsTheSameGPUsAndNodes(t *testing.T) {
	dir := t.TempDir()
	first := open(t, "8xh100", dir)
	before := inode(t, filepath.Join(dir, "dev", "nvidia0"))
	first.Close()
	second := open(t, "8xh100", dir)
	if a, b := uuidsOf(t, first), uuidsOf(t, second); !slices.Equal(a, b) {
		t.Errorf("UUIDs changed from %v to %v", a, b)
	}
	if after := inode(t, filepath.Join(dir, "dev", "nvidia0")); after != before {
		t.Error("a node that was right was made again")
	}
}

func TestTwoHostsHaveDifferentGPUs(t *testing.T) {
	form := regexp.MustCompile(`^GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	here, there := uuidsOf(t, open(t, "8xt4", t.TempDir())), uuidsOf(t, open(t, "8xt4", t.TempDir()))
	for _, uuid := range here {
		if slices.Contains(there, uuid) || !form.MatchString(uuid) {
			t.Errorf("%s is on both hosts, or not in NVML's form", uuid)
		}
	}
}

func TestTheInventorySaysThatItIsSimulated(t *testing.T) {
	inventory := inventoryOf(t, open(t, "1xgb10", t.TempDir()))
	if !inventory.Simulated || inventory.Problem != "" || inventory.Driver == "" || inventory.CUDA == "" {
		t.Errorf("got %+v", inventory)
	}
	if memory := inventory.Devices[0].MemoryMiB; memory != 0 {
		t.Errorf("unified memory is reported as %d MiB", memory)
	}
}

func TestAMachineSharesWhenItIsAskedToAlone(t *testing.T) {
	for spec, want := range map[string]string{"2xh100": "", "2xh100,mps": gpu.EnforcedByMPS} {
		inventory := inventoryOf(t, open(t, spec, t.TempDir()))
		if inventory.VRAMEnforcement != want || !inventory.Simulated || len(inventory.Devices) != 2 {
			t.Errorf("%s is %+v", spec, inventory)
		}
		if told := strings.Contains(inventory.String(), "nothing enforces"); told != (want != "") {
			t.Errorf("%s is shown as %q", spec, inventory)
		}
	}
}

func TestNodesAreThereAndRefuseToOpen(t *testing.T) {
	dir := t.TempDir()
	open(t, "2xt4", dir)
	for _, name := range []string{"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"} {
		path := filepath.Join(dir, "dev", name)
		if _, err := os.OpenFile(path, os.O_RDWR, 0); !errors.Is(err, unix.ENXIO) {
			t.Errorf("opening %s says %v, want ENXIO", name, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestASmallerMachineLosesTheSurplusAndMendsTheRest(t *testing.T) {
	dir := t.TempDir()
	open(t, "8xt4", dir).Close()
	dev := filepath.Join(dir, "dev")
	must(t, os.Remove(filepath.Join(dev, "nvidia0")))
	must(t, os.Remove(filepath.Join(dev, "nvidia1")))
	must(t, os.WriteFile(filepath.Join(dev, "nvidia1"), []byte("not a device"), 0o600))
	open(t, "2xt4", dir)
	entries, err := os.ReadDir(dev)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
		if entry.Type()&os.ModeCharDevice == 0 {
			t.Errorf("%s is no device", entry.Name())
		}
	}
	if want := []string{"nvidia-uvm", "nvidia0", "nvidia1", "nvidiactl"}; !slices.Equal(names, want) {
		t.Errorf("nodes are %v, want %v", names, want)
	}
}

func TestBadStartsAreRefused(t *testing.T) {
	needRoot(t)
	damaged := t.TempDir()
	must(t, os.WriteFile(filepath.Join(damaged, "seed"), []byte("12ab"), 0o600))
	for intention, c := range map[string]struct{ spec, dir, self, want string }{
		"unknown model":  {"8xz80", t.TempDir(), "", "is not a model"},
		"damaged seed":   {"8xh100", damaged, "", "is damaged"},
		"no such binary": {"8xh100", t.TempDir(), "/no/such/pinion", "no such file"},
		"relative self":  {"8xh100", t.TempDir(), "pinion", "not an absolute path"},
	} {
		t.Run(intention, func(t *testing.T) {
			_, err := Open(c.spec, c.dir, c.self)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error is %v, want one that says %q", err, c.want)
			}
		})
	}
}

func TestAGPUBreaksAndMendsFromOutside(t *testing.T) {
	needRoot(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := open(t, "2xh100", dir)
		file := filepath.Join(dir, "broken", "1")

		must(t, os.WriteFile(file, []byte("Xid 79, GPU has fallen off the bus\n"), 0o600))
		<-s.Changed()
		devices := inventoryOf(t, s).Devices
		if devices[0].Health != gpu.Healthy || devices[1].Health != gpu.Lost || devices[1].Problem != "Xid 79, GPU has fallen off the bus" {
			t.Errorf("broken: %+v", devices)
		}

		must(t, os.Remove(file))
		<-s.Changed()
		if d := inventoryOf(t, s).Devices[1]; d.Health != gpu.Healthy || d.Problem != "" {
			t.Errorf("mended: %+v", d)
		}
	})
}

func TestNothingIsSaidWhileNothingChanges(t *testing.T) {
	needRoot(t)
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "broken"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "broken", "0"), nil, 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "broken", "7"), []byte("of a larger machine"), 0o600))
		must(t, os.WriteFile(filepath.Join(dir, "broken", ".0.swp"), []byte("an editor's"), 0o600))
		s := open(t, "2xh100", dir)
		if d := inventoryOf(t, s).Devices; d[0].Health != gpu.Unhealthy || d[0].Problem == "" || d[1].Health != gpu.Healthy {
			t.Errorf("a GPU that was broken before the start: %+v", d)
		}
		select {
		case <-s.Changed():
			t.Error("a change was told where there was none")
		case <-time.After(time.Minute):
		}
	})
}

func TestWhoeverHoldsAGPUIsFound(t *testing.T) {
	dir := t.TempDir()
	s := open(t, "2xt4", dir)
	uuids := uuidsOf(t, s)
	free := func(uuid string) []int {
		t.Helper()
		pids, err := s.Processes(context.Background(), uuid)
		must(t, err)
		return pids
	}
	if pids := free(uuids[0]); len(pids) > 0 {
		t.Fatalf("%v hold a GPU that nobody uses", pids)
	}
	fd, err := unix.Open(filepath.Join(dir, "dev", "nvidia0"), unix.O_PATH|unix.O_CLOEXEC, 0)
	must(t, err)
	if pids := free(uuids[0]); !slices.Equal(pids, []int{os.Getpid()}) {
		t.Errorf("holders are %v, want this process", pids)
	}
	if pids := free(uuids[1]); len(pids) > 0 {
		t.Errorf("%v hold the GPU beside it", pids)
	}
	must(t, unix.Close(fd))
	if pids := free(uuids[0]); len(pids) > 0 {
		t.Errorf("%v still hold it", pids)
	}
	if _, err := s.Processes(context.Background(), "GPU-elsewhere"); err == nil {
		t.Error("a GPU of another host was answered for")
	}
}

func TestTheDeviceNumberStaysOutOfTheWayOfDrivers(t *testing.T) {
	const claimed = "Character devices:\n  1 mem\n240 watchdog\n241 hidraw\n\nBlock devices:\n242 virtblk\n"
	if major, err := freeMajor(t.TempDir(), claimed); err != nil || major != 242 {
		t.Errorf("got %d, %v; want 242", major, err)
	}
	var all strings.Builder
	for major := firstMajor; major <= lastMajor; major++ {
		all.WriteString(strings.Repeat(" ", 2) + string([]byte{'2', byte('0' + major/10%10), byte('0' + major%10)}) + " driver\n")
	}
	if _, err := freeMajor(t.TempDir(), all.String()); err == nil {
		t.Error("a number was found where all are taken")
	}
}

func open(t *testing.T, spec, dir string) gpu.Source {
	t.Helper()
	needRoot(t)
	s, err := Open(spec, dir, "")
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("the simulator makes device nodes, which takes root")
	}
}

func inventoryOf(t *testing.T, s gpu.Source) gpu.Inventory {
	t.Helper()
	inventory, err := s.Inventory(context.Background())
	must(t, err)
	return inventory
}

func uuidsOf(t *testing.T, s gpu.Source) []string {
	t.Helper()
	return inventoryOf(t, s).Healthy()
}

func inode(t *testing.T, path string) uint64 {
	t.Helper()
	var stat unix.Stat_t
	must(t, unix.Stat(path, &stat))
	return stat.Ino
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
