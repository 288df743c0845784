//go:build cgo

package main

import (
	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// smActivity is the part of a device's streaming multiprocessors that computed since the call before, in percent: the GPU performance monitor of Hopper and
// later compares two samples. Nil at the first call, and where the driver has no such thing.
func (m *meter) smActivity(lib nvml.Interface, handle nvml.Device, hasFunction func(string) bool) *float64 {
	if !hasFunction("nvmlGpmMetricsGet") {
		return nil
	}
	if support, ret := handle.GpmQueryDeviceSupport(); ret != nvml.SUCCESS || support.IsSupportedDevice == 0 {
		return nil
	}
	sample, ret := lib.GpmSampleAlloc()
	if ret != nvml.SUCCESS {
		return nil
	}
	if ret := handle.GpmSampleGet(sample); ret != nvml.SUCCESS {
		sample.Free()
		return nil
	}
	before := m.monitor
	m.monitor = sample
	if before == nil {
		return nil
	}
	defer before.Free()
	metrics := &nvml.GpmMetricsGetType{NumMetrics: 1, Sample1: before, Sample2: sample}
	metrics.Metrics[0].MetricId = uint32(nvml.GPM_METRIC_SM_UTIL)
	if ret := lib.GpmMetricsGet(metrics); ret != nvml.SUCCESS || nvml.Return(metrics.Metrics[0].NvmlReturn) != nvml.SUCCESS {
		return nil
	}
	return known(metrics.Metrics[0].Value)
}
