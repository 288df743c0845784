//go:build cgo

package main

import (
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// volta is the first compute capability on which NVIDIA's Multi-Process Service keeps the memory of clients apart.
const volta = 7

// sharesByMPS reports whether MPS can keep clients to their memory on all of the devices.
func (d *driver) sharesByMPS(devices []nvml.Device) bool {
	return len(devices) > 0 && !slices.ContainsFunc(devices, func(device nvml.Device) bool {
		major, _, ret := device.GetCudaComputeCapability()
		return ret != nvml.SUCCESS || major < volta
	})
}

// setComputeMode sets which processes may compute on a device.
func (d *driver) setComputeMode(uuid string, mode nvml.ComputeMode) error {
	if err := d.open(); err != nil {
		return err
	}
	handle, ret := d.lib.DeviceGetHandleByUUID(uuid)
	if ret != nvml.SUCCESS {
		return fmt.Errorf("GPU %s: %w", uuid, ret)
	}
	if ret := handle.SetComputeMode(mode); ret != nvml.SUCCESS {
		return fmt.Errorf("compute mode of GPU %s: %w", uuid, ret)
	}
	return nil
}
