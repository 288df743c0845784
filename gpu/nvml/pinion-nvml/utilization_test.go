//go:build cgo

package main

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
)

// noSymbol is a driver's library that lacks every function that is asked for.
type noSymbol struct{ nvml.ExtendedInterface }

func (noSymbol) LookupSymbol(string) error { return errors.New("undefined symbol") }

type allSymbols struct{ nvml.ExtendedInterface }

func (allSymbols) LookupSymbol(string) error { return nil }

// The samples since the call before count, in which a device computes or not; a driver that keeps none answers with its last period.
func TestUtilizationIsTheAverageOfTheDriversSamples(t *testing.T) {
	taken := []nvml.Sample{}
	sample := func(at uint64, percent uint32) {
		s := nvml.Sample{TimeStamp: at}
		binary.NativeEndian.PutUint32(s.SampleValue[:], percent)
		taken = append(taken, s)
	}
	device := &mock.Device{
		GetSamplesFunc: func(_ nvml.SamplingType, after uint64) (nvml.ValueType, []nvml.Sample, nvml.Return) {
			var fresh []nvml.Sample
			for _, s := range taken {
				if s.TimeStamp > after {
					fresh = append(fresh, s)
				}
			}
			if len(fresh) == 0 {
				return 0, nil, nvml.ERROR_NOT_FOUND
			}
			return nvml.VALUE_TYPE_UNSIGNED_INT, append(fresh, nvml.Sample{}), nvml.SUCCESS
		},
		GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 7}, nvml.SUCCESS },
	}
	symbols := nvml.ExtendedInterface(allSymbols{})
	lib := &mock.Interface{
		DeviceGetHandleByUUIDFunc: func(string) (nvml.Device, nvml.Return) { return device, nvml.SUCCESS },
		ExtensionsFunc:            func() nvml.ExtendedInterface { return symbols },
	}
	d := &driver{lib: lib, ready: true}
	want := func(percent float64, after string) {
		t.Helper()
		if got, err := d.utilization("GPU-a"); err != nil || *got != percent {
			t.Errorf("%s: %v %v", after, got, err)
		}
	}
	want(7, "no sample yet")
	sample(100, 90)
	sample(200, 30)
	want(60, "two samples")
	sample(300, 10)
	want(10, "one more sample")
	symbols = noSymbol{}
	sample(400, 99)
	want(7, "an old driver")
	device.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{}, nvml.ERROR_NOT_SUPPORTED }
	if got, err := d.utilization("GPU-a"); err == nil {
		t.Errorf("what the driver does not know is %v", *got)
	}
}
