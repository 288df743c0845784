//go:build cgo

package main

import (
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"pinion/gpu"
)

// lanesOf has a device have so many lanes up.
func lanesOf(device *server.Device, up int) {
	device.GetTopologyCommonAncestorFunc = func(nvml.Device) (nvml.GpuTopologyLevel, nvml.Return) {
		return nvml.TOPOLOGY_SYSTEM, nvml.SUCCESS
	}
	device.GetNvLinkStateFunc = func(lane int) (nvml.EnableState, nvml.Return) {
		switch {
		case lane >= 12:
			return 0, nvml.ERROR_INVALID_ARGUMENT
		case lane >= up:
			return nvml.FEATURE_DISABLED, nvml.SUCCESS
		}
		return nvml.FEATURE_ENABLED, nvml.SUCCESS
	}
}

// wantHealth compares the health of the first devices.
func wantHealth(t *testing.T, when string, d *driver, want ...gpu.Health) (devices []gpu.Device) {
	t.Helper()
	devices = d.inventory().Devices
	for i, health := range want {
		if devices[i].Health != health {
			t.Errorf("%s: GPU %d is %s %q, not %s", when, i, devices[i].Health, devices[i].Problem, health)
		}
	}
	return devices
}

// All GPUs of a baseboard have as many lanes into NVSwitch: one with fewer has some that are down, from the first look on.
func TestLanesIntoNVSwitchThatAreDown(t *testing.T) {
	d, cards := dgx(t)
	lanesOf(cards[1], 10)
	devices := wantHealth(t, "at the first look", d, gpu.Healthy, gpu.NeedsReset, gpu.Healthy)
	if !strings.HasPrefix(devices[1].Problem, "2 of its 12 NVLinks are down: ") {
		t.Errorf("%q", devices[1].Problem)
	}
	if record, err := d.record(devices[1].UUID); err != nil || record.Problem != devices[1].Problem {
		t.Errorf("a check finds %+v, %v", record, err)
	}
	lanesOf(cards[1], 12)
	wantHealth(t, "up again", d, gpu.Healthy, gpu.Healthy)
	if record, err := d.record(devices[1].UUID); err != nil || record.Problem != "" {
		t.Errorf("up again, a check finds %+v, %v", record, err)
	}
	for _, card := range cards {
		lanesOf(card, 0)
	}
	wantHealth(t, "all lanes of all GPUs", d, gpu.NeedsReset, gpu.NeedsReset)
}

// Lanes to a peer are missed when they were there before, unless the peer is what fails: one GPU that is lost makes no other one sick.
func TestLanesToAPeerThatAreDown(t *testing.T) {
	d, cards := dgx(t)
	for i, card := range cards {
		card.GetNvLinkRemoteDeviceTypeFunc = func(int) (nvml.IntNvLinkDeviceType, nvml.Return) {
			return nvml.NVLINK_DEVICE_TYPE_GPU, nvml.SUCCESS
		}
		card.GetNvLinkRemotePciInfoFunc = func(int) (nvml.PciInfo, nvml.Return) { return pciInfo(pciOf(i ^ 1)), nvml.SUCCESS }
		lanesOf(card, 4) // as the bridge has
	}
	wantHealth(t, "as it was built", d, gpu.Healthy, gpu.Healthy)
	lanesOf(cards[0], 3)
	lanesOf(cards[1], 3)
	wantHealth(t, "a lane of the bridge", d, gpu.NeedsReset, gpu.NeedsReset, gpu.Healthy)
	lanesOf(cards[0], 0)
	lanesOf(cards[1], 0)
	cards[1].GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{}, nvml.ERROR_GPU_IS_LOST }
	wantHealth(t, "the peer is lost", d, gpu.Healthy, gpu.Lost, gpu.Healthy)
	cards[1].GetUUIDFunc = func() (string, nvml.Return) { return "", nvml.ERROR_GPU_IS_LOST }
	wantHealth(t, "the peer is gone", d, gpu.Healthy, gpu.Healthy)
}

func TestTheStateOfTheNVLinkFabric(t *testing.T) {
	completed := func(status nvml.Return, mask uint32) nvml.GpuFabricInfo_v2 {
		return nvml.GpuFabricInfo_v2{State: nvml.GPU_FABRIC_STATE_COMPLETED, Status: uint32(status), HealthMask: mask}
	}
	const well = 2<<0 | 2<<2 | 2<<4 | 2<<6 | 1<<8
	d, cards := dgx(t)
	infos := map[nvml.Device]nvml.GpuFabricInfo_v2{}
	d.fabric = func(handle nvml.Device) (nvml.GpuFabricInfo_v2, nvml.Return) {
		info, ok := infos[handle]
		if !ok {
			return info, nvml.ERROR_NOT_SUPPORTED
		}
		return info, nvml.SUCCESS
	}
	for _, test := range []struct {
		name   string
		info   nvml.GpuFabricInfo_v2
		health gpu.Health
		words  string
	}{
		{"it is well", completed(nvml.SUCCESS, well), gpu.Healthy, ""},
		{"an old driver, which knows no health", completed(nvml.SUCCESS, 0), gpu.Healthy, ""},
		{"less bandwidth", completed(nvml.SUCCESS, well&^3|1), gpu.Healthy, ""},
		{"no fabric", nvml.GpuFabricInfo_v2{State: nvml.GPU_FABRIC_STATE_NOT_SUPPORTED}, gpu.Healthy, ""},
		{"not registered yet", nvml.GpuFabricInfo_v2{State: nvml.GPU_FABRIC_STATE_IN_PROGRESS}, gpu.Unhealthy, "has not joined"},
		{"not begun", nvml.GpuFabricInfo_v2{State: nvml.GPU_FABRIC_STATE_NOT_STARTED}, gpu.Unhealthy, "has not joined"},
		{"refused", completed(nvml.ERROR_TIMEOUT, well), gpu.NeedsReset, "could not join its NVLink fabric ("},
		{"no route", completed(nvml.SUCCESS, well&^(3<<4)|1<<4), gpu.NeedsReset, "no route"},
		{"another route is looked for", completed(nvml.SUCCESS, well&^(3<<2)|1<<2), gpu.Unhealthy, "looking for other routes"},
		{"an access took too long", completed(nvml.SUCCESS, well&^(3<<6)|1<<6), gpu.Unhealthy, "looking for other routes"},
		{"no partition", completed(nvml.SUCCESS, well&^(15<<8)|4<<8), gpu.Unhealthy, "(no partition)"},
		{"a reason to come", completed(nvml.SUCCESS, well&^(15<<8)|13<<8), gpu.Unhealthy, "(code 13)"},
	} {
		infos[cards[2]] = test.info
		if device := wantHealth(t, test.name, d, gpu.Healthy, gpu.Healthy, test.health, gpu.Healthy)[2]; !strings.Contains(device.Problem, test.words) {
			t.Errorf("%s: %q", test.name, device.Problem)
		}
	}
}

// A single GPU of a board in a virtual machine is never registered, and works: no lane of it is up, and no other GPU has joined a fabric.
func TestAMachineWithoutAFabricWaitsForNone(t *testing.T) {
	d, cards := dgx(t)
	d.fabric = func(nvml.Device) (nvml.GpuFabricInfo_v2, nvml.Return) {
		return nvml.GpuFabricInfo_v2{State: nvml.GPU_FABRIC_STATE_IN_PROGRESS}, nvml.SUCCESS
	}
	for _, card := range cards {
		lanesOf(card, 0)
	}
	wantHealth(t, "no lane is up", d, gpu.Healthy, gpu.Healthy)
	lanesOf(cards[0], 12)
	lanesOf(cards[1], 12)
	wantHealth(t, "lanes are up", d, gpu.Unhealthy, gpu.Unhealthy)
}
