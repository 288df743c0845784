//go:build cgo

package main

import (
	"iter"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
)

// unknownInstance is the id of an instance in an event that concerns none, of NVML's nvmlEventData_t.
const unknownInstance = 0xffffffff

// isPartitioned reports whether the device is in MIG mode.
func (d *driver) isPartitioned(handle nvml.Device) bool {
	if !d.hasFunction("nvmlDeviceGetMigMode") {
		return false
	}
	mode, _, ret := handle.GetMigMode()
	return ret == nvml.SUCCESS && mode == nvml.DEVICE_MIG_ENABLE
}

// migHandles visits the MIG devices of a device in MIG mode, with their index.
func migHandles(handle nvml.Device) iter.Seq2[int, nvml.Device] {
	return func(yield func(int, nvml.Device) bool) {
		count, _ := handle.GetMaxMigDeviceCount()
		for i := range count {
			if child, ret := handle.GetMigDeviceHandleByIndex(i); ret == nvml.SUCCESS && !yield(i, child) { // others are unused slots
				return
			}
		}
	}
}

// migDevices reads the MIG devices of a device in MIG mode. What is wrong with the device is wrong with each of them.
func (d *driver) migDevices(parent *gpu.Device, handle nvml.Device) (all []gpu.Device) {
	startOf := starts(handle)
	for i, child := range migHandles(handle) {
		var failed problem
		device := *parent
		device.MIGDevice = &gpu.MIGDevice{Parent: parent.UUID, ParentMemoryMiB: parent.MemoryMiB, Index: i, Start: -1}
		device.UUID, _ = read(&failed, "UUID", child.GetUUID)
		if name, ok := read(&failed, "name", child.GetName); ok {
			// "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
			_, device.MIGDevice.Profile, _ = strings.Cut(name, " MIG ")
		}
		if memory, ok := read(&failed, "memory", child.GetMemoryInfo); ok {
			device.MemoryMiB = int64(memory.Total >> 20)
		}
		if instance, ret := child.GetGpuInstanceId(); ret == nvml.SUCCESS {
			if start, known := startOf[instance]; known {
				device.MIGDevice.Start = start
			}
		}
		if device.UUID == "" || device.MIGDevice.Profile == "" {
			continue // without them nobody can be given it
		}
		if failed.text != "" && device.Health == gpu.Healthy {
			device.Health, device.Problem = failed.health, failed.text
		}
		all = append(all, device)
	}
	return all
}

// isMIG reports whether the UUID is that of a MIG device.
func isMIG(uuid string) bool { return strings.HasPrefix(uuid, "MIG-") }

// cardOf is the handle of the GPU, or of that whose MIG device has the UUID: health is the GPU's.
func (d *driver) cardOf(uuid string) (nvml.Device, nvml.Return) {
	handle, ret := d.lib.DeviceGetHandleByUUID(uuid)
	if ret == nvml.SUCCESS && isMIG(uuid) {
		return handle.GetDeviceHandleFromMigDeviceHandle()
	}
	return handle, ret
}

// uuidOf is the UUID of the device that an event concerns: of the MIG device, when the driver says which one.
func (d *driver) uuidOf(data nvml.EventData) string {
	uuid, ret := data.Device.GetUUID()
	if ret != nvml.SUCCESS {
		return ""
	}
	if data.EventType != nvml.EventTypeXidCriticalError || data.GpuInstanceId == unknownInstance || !d.isPartitioned(data.Device) {
		return uuid
	}
	var found []string
	for _, child := range migHandles(data.Device) {
		instance, ret := child.GetGpuInstanceId()
		compute, computeRet := child.GetComputeInstanceId()
		if ret != nvml.SUCCESS || uint32(instance) != data.GpuInstanceId ||
			data.ComputeInstanceId != unknownInstance && (computeRet != nvml.SUCCESS || uint32(compute) != data.ComputeInstanceId) {
			continue
		}
		if own, ret := child.GetUUID(); ret == nvml.SUCCESS {
			found = append(found, own)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return uuid // it concerns several of them, or one that is gone
}
