//go:build cgo

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"pinion/gpu"
)

// dgx is NVIDIA's mock of a DGX A100, completed with what the mock leaves out: eight GPUs, each with twelve lanes into
// NVSwitch, four on each NUMA node.
func dgx(t *testing.T) (*driver, []*server.Device) {
	t.Helper()
	lib := dgxa100.New()
	lib.EventSetCreateFunc = func() (nvml.EventSet, nvml.Return) { return nil, nvml.ERROR_NOT_SUPPORTED }
	root := t.TempDir()
	var devices []*server.Device
	for i, d := range lib.Devices {
		device := d.(*server.Device)
		complete(device, pciOf(i))
		dir := filepath.Join(root, "sys/bus/pci/devices", strings.ToLower(pciOf(i))[4:])
		must(t, errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "numa_node"), fmt.Appendln(nil, i/4), 0o644)))
		devices = append(devices, device)
	}
	return &driver{lib: lib, root: root, self: "/opt/pinion-nvml"}, devices
}

func pciOf(i int) string { return fmt.Sprintf("00000000:%02X:00.0", 0xa0+i) }

func complete(d *server.Device, pci string) {
	d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) { return pciInfo(pci), nvml.SUCCESS }
	d.GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return {
		v[0].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
		return nvml.SUCCESS
	}
	d.GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 0, false, false, nvml.SUCCESS }
	d.GetNvLinkStateFunc = func(lane int) (nvml.EnableState, nvml.Return) {
		if lane >= 12 {
			return 0, nvml.ERROR_INVALID_ARGUMENT
		}
		return nvml.FEATURE_ENABLED, nvml.SUCCESS
	}
	d.GetNvLinkRemoteDeviceTypeFunc = func(int) (nvml.IntNvLinkDeviceType, nvml.Return) {
		return nvml.NVLINK_DEVICE_TYPE_SWITCH, nvml.SUCCESS
	}
	d.GpmQueryDeviceSupportFunc = func() (nvml.GpmSupport, nvml.Return) { return nvml.GpmSupport{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
}

func pciInfo(address string) nvml.PciInfo {
	var info nvml.PciInfo
	for i, c := range []byte(address) {
		info.BusId[i] = int8(c)
	}
	return info
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestInventoryOfADGX(t *testing.T) {
	d, devices := dgx(t)
	i := d.inventory()
	if i.Problem != "" || i.Driver != "550.54.15" || i.CUDA != "12.4" || len(i.Devices) != 8 {
		t.Fatalf("inventory %+v", i)
	}
	got := i.Devices[5]
	if got.UUID != devices[5].UUID || got.Index != 5 || got.Minor != 5 || got.PCI != pciOf(5) || got.Model != "Mock NVIDIA A100-SXM4-40GB" ||
		got.MemoryMiB != 40960 || got.NUMANode != 1 || got.Health != gpu.Healthy || got.MIGDevice != nil {
		t.Errorf("device %+v", got)
	}
	if links := slices.Collect(got.Links.All()); len(links) != 7 || links[0] != (gpu.Link{Peer: devices[0].UUID, Kind: gpu.LinkNVLink, Lanes: 12}) {
		t.Errorf("links %+v", links)
	}
}

func TestWhatADeviceDoesNotSupportIsData(t *testing.T) {
	d, devices := dgx(t)
	devices[0].GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_NOT_SUPPORTED }
	devices[0].GetMinorNumberFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	got := d.inventory().Devices[0]
	if got.Health != gpu.Healthy || got.MemoryMiB != 0 || got.Minor != -1 {
		t.Errorf("unified-memory device %+v", got)
	}
}

func TestALostDeviceHidesNoOther(t *testing.T) {
	t.Run("it still has its name", func(t *testing.T) {
		d, devices := dgx(t)
		devices[3].GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST }
		i := d.inventory()
		if len(i.Devices) != 8 || i.Devices[3].Health != gpu.Lost || !strings.Contains(i.Devices[3].Problem, "memory") {
			t.Errorf("device %+v", i.Devices[3])
		}
	})
	t.Run("it answers nothing", func(t *testing.T) {
		d, devices := dgx(t)
		devices[3].GetUUIDFunc = func() (string, nvml.Return) { return "", nvml.ERROR_GPU_IS_LOST }
		i := d.inventory()
		if len(i.Devices) != 7 || !strings.Contains(i.Problem, "GPU 3 cannot be read") {
			t.Errorf("%d devices, problem %q", len(i.Devices), i.Problem)
		}
	})
}

func TestWhatTheDriverHoldsAgainstADevice(t *testing.T) {
	d, devices := dgx(t)
	devices[0].GetFieldValuesFunc = func(v []nvml.FieldValue) nvml.Return {
		v[0].Value[0] = byte(nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET)
		return nvml.SUCCESS
	}
	devices[1].GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 8, false, true, nvml.SUCCESS }
	i := d.inventory()
	if i.Devices[0].Health != gpu.NeedsReset || !strings.Contains(i.Devices[0].Problem, "a reset") || i.Devices[1].Health != gpu.Replace || i.Devices[2].Health != gpu.Healthy {
		t.Errorf("devices %+v", i.Devices[:3])
	}
	if record, err := d.record(i.Devices[0].UUID); err != nil || record.Problem != i.Devices[0].Problem || !record.Complete {
		t.Errorf("record of a GPU that needs a reset: %+v, %v", record, err)
	}
	if record, err := d.record(i.Devices[2].UUID); err != nil || record.Problem != "" {
		t.Errorf("record of a healthy one: %+v, %v", record, err)
	}
}

func TestLinksWithoutNVLinkFollowThePCITree(t *testing.T) {
	d, devices := dgx(t)
	none := func(int) (nvml.EnableState, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	paths := []nvml.GpuTopologyLevel{0, nvml.TOPOLOGY_SINGLE, nvml.TOPOLOGY_MULTIPLE, nvml.TOPOLOGY_HOSTBRIDGE, nvml.TOPOLOGY_NODE, nvml.TOPOLOGY_SYSTEM}
	for _, device := range devices {
		device.GetNvLinkStateFunc = none
		device.GetTopologyCommonAncestorFunc = func(peer nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
			index, _ := peer.GetIndex()
			if index >= len(paths) {
				return 0, nvml.ERROR_NOT_SUPPORTED
			}
			return paths[index], nvml.SUCCESS
		}
	}
	var kinds []gpu.LinkKind
	for link := range d.inventory().Devices[0].Links.All() {
		kinds = append(kinds, link.Kind)
	}
	want := []gpu.LinkKind{gpu.LinkSwitch, gpu.LinkSwitches, gpu.LinkHost, gpu.LinkNode, gpu.LinkSystem}
	if fmt.Sprint(kinds) != fmt.Sprint(want) {
		t.Errorf("kinds %v, want %v", kinds, want)
	}
}

func TestDirectNVLinksAreCountedByPeer(t *testing.T) {
	d, devices := dgx(t)
	for i, device := range devices {
		peer := pciOf(i ^ 1) // pairs
		device.GetNvLinkRemoteDeviceTypeFunc = func(int) (nvml.IntNvLinkDeviceType, nvml.Return) {
			return nvml.NVLINK_DEVICE_TYPE_GPU, nvml.SUCCESS
		}
		device.GetNvLinkRemotePciInfoFunc = func(lane int) (nvml.PciInfo, nvml.Return) {
			// Older drivers write the address in small letters.
			return pciInfo(strings.ToLower(peer)), nvml.SUCCESS
		}
		device.GetTopologyCommonAncestorFunc = func(nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
			return nvml.TOPOLOGY_SYSTEM, nvml.SUCCESS
		}
	}
	links := slices.Collect(d.inventory().Devices[0].Links.All())
	if links[0] != (gpu.Link{Peer: devices[1].UUID, Kind: gpu.LinkNVLink, Lanes: 12}) || links[1].Kind != gpu.LinkSystem {
		t.Errorf("links %+v", links)
	}
}

func TestWithoutADriverTheProblemSaysWhatToDo(t *testing.T) {
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "install it",
		nvml.ERROR_DRIVER_NOT_LOADED:       "modprobe nvidia",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "reboot",
		nvml.ERROR_UNKNOWN:                 "ERROR_UNKNOWN",
	} {
		d := &driver{lib: &mock.Interface{InitFunc: func() nvml.Return { return ret }}}
		if i := d.inventory(); !strings.Contains(i.Problem, want) || len(i.Devices) != 0 {
			t.Errorf("%v: %+v", ret, i)
		}
	}
}

func TestProcessesAreThoseThatCompute(t *testing.T) {
	d, devices := dgx(t)
	devices[0].GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 41}, {Pid: 42}}, nvml.SUCCESS
	}
	if pids, err := d.processes(devices[0].UUID); err != nil || fmt.Sprint(pids) != "[41 42]" {
		t.Errorf("%v %v", pids, err)
	}
	if _, err := d.processes("GPU-unknown"); err == nil {
		t.Error("an unknown device has processes")
	}
}
