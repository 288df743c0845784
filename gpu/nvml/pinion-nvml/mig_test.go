//go:build cgo

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"pinion/gpu"
	"pinion/gpu/mig"
)

// partition puts a GPU into MIG mode, with one MIG device in the third of its slots.
func partition(card *server.Device) {
	card.MigMode = nvml.DEVICE_MIG_ENABLE
	card.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i != 2 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return &mock.Device{
			GetUUIDFunc:              func() (string, nvml.Return) { return "MIG-c", nvml.SUCCESS },
			GetNameFunc:              func() (string, nvml.Return) { return "NVIDIA A100-SXM4-40GB MIG 1g.5gb", nvml.SUCCESS },
			GetMemoryInfoFunc:        func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 4864 << 20}, nvml.SUCCESS },
			GetMemoryInfo_v2Func:     func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{Used: 1 << 30}, nvml.SUCCESS },
			GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return 9, nvml.SUCCESS },
			GetComputeInstanceIdFunc: func() (int, nvml.Return) { return 0, nvml.SUCCESS },
		}, nvml.SUCCESS
	}
}

// A GPU in MIG mode is not listed: its MIG devices are, with what is wrong with it.
func TestMIGDevicesAreListedInPlaceOfTheirGPU(t *testing.T) {
	d, devices := dgx(t)
	partition(devices[1])
	all := d.inventory().Devices
	want := gpu.MIGDevice{Parent: devices[1].UUID, ParentMemoryMiB: 40960, Index: 2, Profile: "1g.5gb", Start: -1}
	got := all[len(all)-1]
	if len(all) != 8 || got.UUID != "MIG-c" || *got.MIGDevice != want || got.MemoryMiB != 4864 || got.Number() != "1:2" || got.Health != gpu.Healthy || got.Links != "" {
		t.Errorf("%d devices, the MIG device %+v", len(all), got)
	}
	if slices.ContainsFunc(all, func(d gpu.Device) bool { return d.UUID == devices[1].UUID }) {
		t.Error("its GPU is listed too")
	}
	devices[1].GetRemappedRowsFunc = func() (int, int, bool, bool, nvml.Return) { return 0, 8, false, true, nvml.SUCCESS }
	if got := d.inventory().Devices[7]; got.Health != gpu.Replace {
		t.Errorf("of a broken GPU: %+v", got)
	}
}

func TestAGPUInMIGModeWithoutMIGDevicesIsNotGiven(t *testing.T) {
	d, devices := dgx(t)
	devices[0].MigMode = nvml.DEVICE_MIG_ENABLE
	devices[0].GetMigDeviceHandleByIndexFunc = func(int) (nvml.Device, nvml.Return) { return nil, nvml.ERROR_NOT_FOUND }
	if got := d.inventory().Devices[0]; got.Health != gpu.Unhealthy || !strings.Contains(got.Problem, "-mig 0") {
		t.Errorf("it is %s (%s)", got.Health, got.Problem)
	}
}

func TestOfAMIGDeviceTheDriverTellsTheMemoryAlone(t *testing.T) {
	d, devices := dgx(t)
	partition(devices[0])
	d.lib.(*server.Server).DeviceGetCountFunc = func() (int, nvml.Return) { return 1, nvml.SUCCESS }
	all, err := d.usage()
	must(t, err)
	if len(all) != 1 || all[0].UUID != "MIG-c" || all[0].MemoryUsedMiB == nil || *all[0].MemoryUsedMiB != 1024 || all[0].Utilization != nil || all[0].PowerWatts != nil {
		t.Errorf("%+v", all)
	}
}

// layoutOf is the layout of the mock's GPU.
func layoutOf(t *testing.T, card *server.Device) mig.Layout {
	t.Helper()
	known, err := profiles(card)
	must(t, err)
	var l mig.Layout
	for _, i := range instances(card, known) {
		l = append(l, i.Instance)
	}
	return mig.Sorted(l)
}

// A GPU is partitioned step by step, and MIG devices that stay are left alone.
func TestAGPUIsPartitioned(t *testing.T) {
	d, devices := dgx(t)
	d.lib.(*server.Server).DeviceGetHandleByUUIDFunc = func(string) (nvml.Device, nvml.Return) { return devices[0], nvml.SUCCESS }
	kept := map[*server.GpuInstance]bool{}
	for _, want := range []mig.Layout{
		{{Profile: "1g.5gb", Start: 6}},
		{{Profile: "4g.20gb", Start: 0}, {Profile: "1g.10gb", Start: 4}, {Profile: "1g.5gb", Start: 6}},
		{{Profile: "3g.20gb", Start: 0}, {Profile: "2g.10gb", Start: 4}, {Profile: "1g.5gb", Start: 6}},
		nil,
	} {
		must(t, d.partition("GPU-0", want))
		if got := layoutOf(t, devices[0]); !slices.Equal(got, want) {
			t.Errorf("it is %v, want %v", got, want)
		}
		if enabled := devices[0].MigMode == nvml.DEVICE_MIG_ENABLE; enabled != (len(want) > 0) {
			t.Errorf("MIG is on: %t, with %v", enabled, want)
		}
		for i := range devices[0].GpuInstances {
			if i.Info.Placement.Start == 6 {
				kept[i] = true
			}
			if len(i.ComputeInstances) != 1 {
				t.Errorf("%d compute instances at %d", len(i.ComputeInstances), i.Info.Placement.Start)
			}
		}
	}
	if len(kept) != 1 {
		t.Errorf("the MIG device that stays was made %d times", len(kept))
	}
}

func TestAGPUThatIsNotPartitionedSaysWhy(t *testing.T) {
	d, devices := dgx(t)
	d.lib.(*server.Server).DeviceGetHandleByUUIDFunc = func(string) (nvml.Device, nvml.Return) { return devices[0], nvml.SUCCESS }
	if err := d.partition("GPU-0", mig.Layout{{Profile: "1g.10gb", Start: 7}}); err == nil || !strings.Contains(err.Error(), "no place") {
		t.Errorf("a place that no MIG device has: %v", err)
	}
	devices[0].MigMode = nvml.DEVICE_MIG_DISABLE
	devices[0].SetMigModeFunc = func(int) (nvml.Return, nvml.Return) { return nvml.ERROR_IN_USE, nvml.SUCCESS }
	if err := d.partition("GPU-0", mig.Layout{{Profile: "1g.5gb", Start: 0}}); err == nil || !strings.Contains(err.Error(), "reset") {
		t.Errorf("a mode that waits for a reset: %v", err)
	}
}
