//go:build cgo

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// volta is the first compute capability on which NVIDIA's Multi-Process Service keeps the memory of clients apart.
const volta = 7

// sharesByMPS reports whether MPS can keep clients to their memory on all of the devices.
func (d *driver) sharesByMPS(devices []reading) bool {
	return len(devices) > 0 && !slices.ContainsFunc(devices, func(r reading) bool {
		major, _, _ := strings.Cut(r.device.ComputeCapability, ".")
		number, err := strconv.Atoi(major)
		return err != nil || number < volta
	})
}

// setComputeMode sets which processes may compute on a device.
func (d *driver) setComputeMode(uuid string, mode nvml.ComputeMode) error {
	if err := d.open(); err != nil {
		return err
	}
	ret, err := ask(d, d.hangs.indexOf(uuid), func() nvml.Return {
		handle, ret := d.lib.DeviceGetHandleByUUID(uuid)
		if ret != nvml.SUCCESS {
			return ret
		}
		return handle.SetComputeMode(mode)
	})
	if err == nil && ret != nvml.SUCCESS {
		err = ret
	}
	if err != nil {
		return fmt.Errorf("compute mode of GPU %s: %w", uuid, err)
	}
	return nil
}
