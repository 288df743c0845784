//go:build cgo

package main

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
)

// fabricInfo is what the driver tells of a device in its NVLink fabric. Older GPUs than Hopper have no such information.
func fabricInfo(handle nvml.Device) (nvml.GpuFabricInfo_v2, nvml.Return) {
	return handle.GetGpuFabricInfoV().V2()
}

// fabricState is what is wrong with a device in its fabric.
type fabricState struct {
	gpu.FabricState        // empty: nothing
	detail          string // the driver's reason
}

// matters reports whether the state of a device with the lanes is a problem. Where a machine has no fabric, such as a virtual one with a single GPU of a
// board, the registration is in progress for ever, and CUDA starts all the same: there no lane is up, and no device of the machine has joined one.
func (s fabricState) matters(up lanes, joined bool) bool {
	return s.FabricState != "" && (s.FabricState != gpu.FabricInProgress || joined || up.to(nvswitch) > 0)
}

// fabricState is the state of a device in its fabric. joined reports whether it is in one.
func (d *driver) fabricState(handle nvml.Device) (state fabricState, joined bool) {
	if d.fabric == nil || !d.hasFunction("nvmlDeviceGetGpuFabricInfoV") {
		return state, false
	}
	info, ret := d.fabric(handle)
	if ret != nvml.SUCCESS {
		return state, false
	}
	state.FabricState, state.detail = stateOf(info)
	return state, info.State == nvml.GPU_FABRIC_STATE_COMPLETED
}

// misconfigurations are the driver's reasons for a configuration that is incorrect.
var misconfigurations = map[uint32]string{
	nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_SYSGUID:    "incorrect system GUID",
	nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCORRECT_CHASSIS_SN: "incorrect serial number of the chassis",
	nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NO_PARTITION:         "no partition",
	nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INSUFFICIENT_NVLINKS: "not enough NVLinks",
	nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INCOMPATIBLE_GPU_FW:  "incompatible firmware of the GPU",
	nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_INVALID_LOCATION:     "invalid location",
	nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_GPU_STATE_INVALID:    "invalid state of the GPU",
}

// stateOf reads a state from the driver's information. Less bandwidth than there could be is none: NVIDIA calls such a fabric operational.
func stateOf(info nvml.GpuFabricInfo_v2) (state gpu.FabricState, detail string) {
	switch info.State {
	case nvml.GPU_FABRIC_STATE_NOT_STARTED, nvml.GPU_FABRIC_STATE_IN_PROGRESS:
		return gpu.FabricInProgress, ""
	case nvml.GPU_FABRIC_STATE_COMPLETED:
	default:
		return "", ""
	}
	if status := nvml.Return(info.Status); status != nvml.SUCCESS {
		return gpu.FabricFailed, status.String()
	}
	health := func(shift, width uint32) uint32 { return info.HealthMask >> shift & width }
	if health(nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_UNHEALTHY, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_UNHEALTHY) == nvml.GPU_FABRIC_HEALTH_MASK_ROUTE_UNHEALTHY_TRUE {
		return gpu.FabricUnhealthy, ""
	}
	switch code := health(nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_INCORRECT_CONFIGURATION, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_INCORRECT_CONFIGURATION); code {
	case nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NOT_SUPPORTED, nvml.GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_NONE:
	default:
		if detail = misconfigurations[code]; detail == "" {
			detail = fmt.Sprint("code ", code)
		}
		return gpu.FabricMisconfigured, detail
	}
	if health(nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ROUTE_RECOVERY, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_ROUTE_RECOVERY) == nvml.GPU_FABRIC_HEALTH_MASK_ROUTE_RECOVERY_TRUE ||
		health(nvml.GPU_FABRIC_HEALTH_MASK_SHIFT_ACCESS_TIMEOUT_RECOVERY, nvml.GPU_FABRIC_HEALTH_MASK_WIDTH_ACCESS_TIMEOUT_RECOVERY) == nvml.GPU_FABRIC_HEALTH_MASK_ACCESS_TIMEOUT_RECOVERY_TRUE {
		return gpu.FabricRecovering, ""
	}
	return "", ""
}
