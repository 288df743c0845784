//go:build cgo

package main

import (
	"encoding/binary"
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// utilization is for how much of the time a device has computed, in percent: the average of the driver's samples since the call before, of which it
// keeps some seconds. A device without samples answers with its last period.
func (d *driver) utilization(uuid string) (*float64, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	handle, ret := d.lib.DeviceGetHandleByUUID(uuid)
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("GPU %s: %w", uuid, ret)
	}
	if d.hasFunction("nvmlDeviceGetSamples") {
		kind, samples, ret := handle.GetSamples(nvml.GPU_UTILIZATION_SAMPLES, d.sampled[uuid])
		if average, ok := averageOf(samples); ret == nvml.SUCCESS && ok && kind == nvml.VALUE_TYPE_UNSIGNED_INT {
			if d.sampled == nil {
				d.sampled = map[string]uint64{}
			}
			for _, s := range samples {
				d.sampled[uuid] = max(d.sampled[uuid], s.TimeStamp)
			}
			return &average, nil
		}
	}
	rates, ret := handle.GetUtilizationRates()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("utilization of GPU %s: %w", uuid, ret)
	}
	percent := float64(rates.Gpu)
	return &percent, nil
}

// averageOf is the average of samples that are unsigned numbers. Places that the driver has not filled have no time.
func averageOf(samples []nvml.Sample) (average float64, ok bool) {
	n := 0
	for _, s := range samples {
		if s.TimeStamp > 0 {
			average, n = average+float64(binary.NativeEndian.Uint32(s.SampleValue[:])), n+1
		}
	}
	return average / float64(max(n, 1)), n > 0
}
