//go:build cgo

package main

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// driver is the NVIDIA driver of this machine. Requests use it one at a time; the watcher of events beside them.
type driver struct {
	lib   nvml.Interface
	root  string               // of the file system, "/" but in tests
	self  string               // path of this program, for hooks
	event func(protocol.Event) // says what the driver reports by itself

	ready bool // the library is loaded and talks to the kernel's part
}

// open loads the library and starts watching for events, once. It may be tried again after a failure: the driver may
// have been installed or loaded meanwhile.
func (d *driver) open() error {
	if d.ready {
		return nil
	}
	if ret := d.lib.Init(); ret != nvml.SUCCESS {
		return driverError(ret)
	}
	d.ready = true
	d.watchEvents()
	return nil
}

// driverError says in words why the driver cannot be talked to at all.
func driverError(ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return fmt.Errorf("the NVIDIA driver is not installed (libnvidia-ml.so.1 is missing): install it, then look again with `nvidia-smi`")
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("the NVIDIA kernel driver is not loaded: load it with `modprobe nvidia`, and look into dmesg if that fails")
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return fmt.Errorf("the NVIDIA driver was updated while it was in use, its library and kernel part differ: reboot, or stop what uses GPUs and load the driver anew")
	case nvml.ERROR_NO_PERMISSION:
		return fmt.Errorf("no permission to talk to the NVIDIA driver: pinion must run as root")
	}
	return fmt.Errorf("the NVIDIA driver cannot be talked to: %w", ret)
}

// notSupported says that an answer is "this device or driver has no such thing", which is data and not an error.
func notSupported(ret nvml.Return) bool {
	return ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_FUNCTION_NOT_FOUND || ret == nvml.ERROR_NO_DATA || ret == nvml.ERROR_NOT_FOUND
}

// hasFunction says whether the loaded library has a function. Calling one that it lacks would end the process.
func (d *driver) hasFunction(function string) bool {
	return d.lib.Extensions().LookupSymbol(function) == nil
}

// inventory reads everything about every device. One device that cannot be read never hides the others.
func (d *driver) inventory() gpu.Inventory {
	if err := d.open(); err != nil {
		return gpu.Inventory{Problem: err.Error()}
	}
	count, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return gpu.Inventory{Problem: driverError(ret).Error()}
	}
	var inventory gpu.Inventory
	inventory.Driver, _ = d.lib.SystemGetDriverVersion()
	if version, ret := d.lib.SystemGetCudaDriverVersion(); ret == nvml.SUCCESS {
		inventory.CUDA = fmt.Sprintf("%d.%d", version/1000, version%1000/10)
	}
	var handles []nvml.Device
	for index := range count {
		handle, ret := d.lib.DeviceGetHandleByIndex(index)
		if ret != nvml.SUCCESS {
			inventory.Problem = fmt.Sprintf("GPU %d cannot be read: %v", index, ret)
			continue
		}
		device, err := d.device(index, handle)
		if err != nil {
			inventory.Problem = err.Error()
			continue
		}
		inventory.Devices = append(inventory.Devices, device)
		handles = append(handles, handle)
	}
	d.link(inventory.Devices, handles)
	return inventory
}

// processes lists the host's processes that compute on a device, those on its MIG slices included. Processes that only
// draw, such as a display server, do not count: they do not keep a task from using the device.
func (d *driver) processes(uuid string) ([]int, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	handle, ret := d.lib.DeviceGetHandleByUUID(uuid)
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("GPU %s: %w", uuid, ret)
	}
	infos, ret := handle.GetComputeRunningProcesses()
	if ret != nvml.SUCCESS && !notSupported(ret) {
		return nil, fmt.Errorf("processes of GPU %s: %w", uuid, ret)
	}
	var pids []int
	for _, info := range infos {
		pids = append(pids, int(info.Pid))
	}
	return pids, nil
}
