//go:build cgo

package main

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// The performance monitor compares the sample of the call before with a new one, and no sample is left behind. A driver or a GPU without it measures nothing.
func TestTheActivityOfMultiprocessorsIsBetweenTwoSamples(t *testing.T) {
	alive, supported, failing := 0, uint32(1), false
	lib := &mock.Interface{
		GpmSampleAllocFunc: func() (nvml.GpmSample, nvml.Return) {
			alive++
			return &mock.GpmSample{FreeFunc: func() nvml.Return { alive--; return nvml.SUCCESS }}, nvml.SUCCESS
		},
		GpmMetricsGetFunc: func(m *nvml.GpmMetricsGetType) nvml.Return {
			if m.NumMetrics != 1 || m.Metrics[0].MetricId != 2 || m.Sample1 == nil || m.Sample2 == nil || m.Sample1 == m.Sample2 {
				t.Errorf("asked for %d metrics, the first is %d", m.NumMetrics, m.Metrics[0].MetricId)
			}
			m.Metrics[0].Value = 37.5
			return nvml.SUCCESS
		},
	}
	device := &mock.Device{
		GpmQueryDeviceSupportFunc: func() (nvml.GpmSupport, nvml.Return) {
			return nvml.GpmSupport{IsSupportedDevice: supported}, nvml.SUCCESS
		},
		GpmSampleGetFunc: func(nvml.GpmSample) nvml.Return {
			if failing {
				return nvml.ERROR_UNKNOWN
			}
			return nvml.SUCCESS
		},
	}
	has, m := true, &meter{}
	read := func() *float64 { return m.smActivity(lib, device, func(string) bool { return has }) }
	if first := read(); first != nil {
		t.Errorf("one sample says %v", *first)
	}
	for range 3 {
		if got := read(); got == nil || *got != 37.5 || alive != 1 {
			t.Errorf("got %v, %d samples are left", got, alive)
		}
	}
	failing = true
	if got := read(); got != nil || alive != 1 {
		t.Errorf("without a new sample: %v, %d samples are left", got, alive)
	}
	failing, supported = false, 0
	if got := read(); got != nil {
		t.Errorf("a GPU without the monitor: %v", *got)
	}
	has = false
	if got := read(); got != nil {
		t.Errorf("a driver without it: %v", *got)
	}
}
