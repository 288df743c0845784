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
	want := gpu.MIGDevice{Parent: devices[1].UUID, ParentMemoryMiB: 40960, Index: 2, Profile: "1g.5gb"}
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
