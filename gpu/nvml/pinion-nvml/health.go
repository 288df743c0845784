//go:build cgo

package main

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// recoveryActions are descriptions of the recovery that the driver requires before a device may be used again.
var recoveryActions = map[nvml.DeviceGpuRecoveryAction]string{
	nvml.GPU_RECOVERY_ACTION_GPU_RESET:           "a reset (`nvidia-smi --gpu-reset`)",
	nvml.GPU_RECOVERY_ACTION_NODE_REBOOT:         "a reboot of the host",
	nvml.GPU_RECOVERY_ACTION_DRAIN_P2P:           "all traffic to its peers stopped",
	nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:     "its work finished and then a reset (`nvidia-smi --gpu-reset`)",
	nvml.GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN: "its IMEX domain recovered",
	nvml.GPU_RECOVERY_ACTION_BUS_RESET:           "a reset of its bus",
	nvml.GPU_RECOVERY_ACTION_SYSTEM_REBOOT:       "a reboot of the host",
}

// checkHealth records the errors that the driver keeps for the device. Both sources, unlike Xid events, survive the process
// that caused the error.
func (d *driver) checkHealth(failed *problem, handle nvml.Device) {
	fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if ret := handle.GetFieldValues(fields); ret == nvml.SUCCESS && nvml.Return(fields[0].NvmlReturn) == nvml.SUCCESS {
		action := nvml.DeviceGpuRecoveryAction(binary.LittleEndian.Uint32(fields[0].Value[:4]))
		if need, ok := recoveryActions[action]; ok {
			failed.add("the driver asks for %s before the GPU is used again", need)
		}
	}
	if !d.hasFunction("nvmlDeviceGetRemappedRows") {
		return
	}
	if _, _, _, broken, ret := handle.GetRemappedRows(); ret == nvml.SUCCESS && broken {
		failed.add("its memory has more broken rows than it can replace: the GPU must be exchanged")
	}
}
