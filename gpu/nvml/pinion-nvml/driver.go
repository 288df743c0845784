//go:build cgo

package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// driver is the NVIDIA driver of this machine. Requests use it one at a time; the event watcher runs concurrently.
type driver struct {
	lib   nvml.Interface
	root  string               // file system root, "/" except in tests
	self  string               // path of this program, for hooks
	event func(protocol.Event) // called for each event of the driver

	// fabric reads the state of a device in its NVLink fabric; nil: nothing is known of that.
	fabric func(nvml.Device) (nvml.GpuFabricInfo_v2, nvml.Return)

	hangs  hangs
	meters map[int]*meter // by index
	links  linkHealth

	ready bool // the library is loaded and connected to the kernel module
}

// open loads the library and starts watching for events, once. It may be retried after a failure, because the driver may
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

// driverError explains why the driver cannot be used at all.
func driverError(ret nvml.Return) error {
	switch ret {
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return fmt.Errorf("the NVIDIA driver is not installed (libnvidia-ml.so.1 is missing): install it, then look again with `nvidia-smi`")
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return fmt.Errorf("the NVIDIA kernel driver is not loaded: load it with `modprobe nvidia`, and see `dmesg` if that fails")
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return fmt.Errorf("the NVIDIA driver was updated while it was in use, its library and kernel part differ: reboot, or stop what uses GPUs and load the driver anew")
	case nvml.ERROR_NO_PERMISSION:
		return fmt.Errorf("no permission to talk to the NVIDIA driver: pinion must run as root")
	}
	return fmt.Errorf("the NVIDIA driver cannot be talked to: %w", ret)
}

// notSupported reports whether the result means that this device or driver lacks the feature; that is data and not an
// error.
func notSupported(ret nvml.Return) bool {
	return ret == nvml.ERROR_NOT_SUPPORTED || ret == nvml.ERROR_FUNCTION_NOT_FOUND || ret == nvml.ERROR_NO_DATA || ret == nvml.ERROR_NOT_FOUND
}

// hasFunction reports whether the loaded library exports a function. Calling a missing one would abort the process.
func (d *driver) hasFunction(function string) bool {
	return d.lib.Extensions().LookupSymbol(function) == nil
}

// inventory reads all properties of all devices. A device that cannot be read does not hide the others.
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
	var readings []reading
	var whole, partitioned, hung []gpu.Device
	for index := range count {
		r, err := ask(d, index, func() reading { return d.readDevice(index) })
		if err != nil && len(d.hangs.known[index]) > 0 {
			hung = append(hung, d.hangs.devices(index, err)...)
			continue
		}
		if err = cmp.Or(err, r.err); err != nil {
			inventory.Problem = fmt.Sprintf("GPU %d cannot be read: %v", index, err)
			continue
		}
		if len(r.parts) > 0 {
			partitioned = append(partitioned, r.parts...)
			continue
		}
		whole, readings = append(whole, r.device), append(readings, r)
	}
	d.link(whole, readings)
	d.hangs.remember(slices.Concat(whole, partitioned))
	if d.sharesByMPS(readings) {
		inventory.VRAMEnforcement = gpu.EnforcedByMPS
	}
	inventory.Devices = append(whole, hung...)
	slices.SortStableFunc(inventory.Devices, func(a, b gpu.Device) int { return a.Index - b.Index })
	inventory.Devices = append(inventory.Devices, partitioned...)
	return inventory
}

// processes lists the host processes that compute on a device. Graphics processes, such as a display
// server, are left out: they do not prevent a task from using the device.
func (d *driver) processes(uuid string) ([]int, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	type answer struct {
		infos []nvml.ProcessInfo
		err   error
	}
	found, err := ask(d, d.hangs.indexOf(uuid), func() answer {
		handle, ret := d.lib.DeviceGetHandleByUUID(uuid)
		if ret != nvml.SUCCESS {
			return answer{err: ret}
		}
		infos, ret := handle.GetComputeRunningProcesses()
		if ret != nvml.SUCCESS && !notSupported(ret) {
			return answer{err: fmt.Errorf("its processes: %w", ret)}
		}
		return answer{infos: infos}
	})
	if err = cmp.Or(err, found.err); err != nil {
		return nil, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	var pids []int
	for _, info := range found.infos {
		pids = append(pids, int(info.Pid))
	}
	return pids, nil
}
