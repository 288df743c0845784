//go:build cgo

package main

import (
	"encoding/binary"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
	"pinion/gpu/nvml/protocol"
)

// recoveryActions are the states of health for the driver's recovery actions, which it requires before a device may be used again.
var recoveryActions = map[nvml.DeviceGpuRecoveryAction]problem{
	nvml.GPU_RECOVERY_ACTION_GPU_RESET:           {gpu.NeedsReset, "a reset"},
	nvml.GPU_RECOVERY_ACTION_NODE_REBOOT:         {gpu.NeedsReboot, "a reboot of the host"},
	nvml.GPU_RECOVERY_ACTION_DRAIN_P2P:           {gpu.NeedsReset, "all traffic to its peers stopped"},
	nvml.GPU_RECOVERY_ACTION_DRAIN_AND_RESET:     {gpu.NeedsReset, "its work finished and then a reset"},
	nvml.GPU_RECOVERY_ACTION_RECOVER_IMEX_DOMAIN: {gpu.NeedsReboot, "its IMEX domain recovered"},
	nvml.GPU_RECOVERY_ACTION_BUS_RESET:           {gpu.NeedsReset, "a reset of its bus"},
	nvml.GPU_RECOVERY_ACTION_SYSTEM_REBOOT:       {gpu.NeedsReboot, "a reboot of the host"},
}

// checkHealth records the errors that the driver keeps for the device. Both sources, unlike Xid events, survive the process
// that caused the error. complete says that the driver keeps what a device needs before it may be used again.
func (d *driver) checkHealth(failed *problem, handle nvml.Device) (complete bool) {
	fields := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
	if ret := handle.GetFieldValues(fields); ret == nvml.SUCCESS && nvml.Return(fields[0].NvmlReturn) == nvml.SUCCESS {
		complete = true
		action := nvml.DeviceGpuRecoveryAction(binary.LittleEndian.Uint32(fields[0].Value[:4]))
		if need, ok := recoveryActions[action]; ok {
			failed.add(need.health, "the driver asks for %s before the GPU is used again: %s", need.text, need.health.RecoveryAction())
		}
	}
	if !d.hasFunction("nvmlDeviceGetRemappedRows") {
		return complete
	}
	if _, _, _, broken, ret := handle.GetRemappedRows(); ret == nvml.SUCCESS && broken {
		failed.add(gpu.Replace, "its memory has more broken rows than it can replace: %s", gpu.Replace.RecoveryAction())
	}
	return complete
}

// record reads the driver's record of a device: the reasons not to use it.
func (d *driver) record(uuid string) (*protocol.DriverRecord, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	d.inventory() // looks at its links
	findings := d.links.findings
	type answer struct {
		record protocol.DriverRecord
		ret    nvml.Return
	}
	found, err := ask(d, d.hangs.indexOf(uuid), func() (a answer) {
		handle, ret := d.cardOf(uuid)
		if ret != nvml.SUCCESS {
			return answer{ret: ret}
		}
		var failed problem
		read(&failed, "memory", handle.GetMemoryInfo)
		a.record.Complete = d.checkHealth(&failed, handle)
		if card, ret := handle.GetUUID(); ret == nvml.SUCCESS {
			failed.addFinding(findings[card])
		}
		a.record.Problem = failed.text
		return a
	})
	if err == nil && found.ret != nvml.SUCCESS {
		err = found.ret
	}
	if err != nil {
		return nil, fmt.Errorf("GPU %s: %w", uuid, err)
	}
	return &found.record, nil
}
