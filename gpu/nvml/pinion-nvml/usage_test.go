//go:build cgo

package main

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"

	"pinion/gpu"
)

// noSymbol is a driver's library that lacks every function that is asked for.
type noSymbol struct{ nvml.ExtendedInterface }

func (noSymbol) LookupSymbol(string) error { return errors.New("undefined symbol") }

// oneSymbol is a driver's library with one function of those that are asked for.
type oneSymbol struct {
	nvml.ExtendedInterface
	name string
}

func (o oneSymbol) LookupSymbol(name string) error {
	if name != o.name {
		return errors.New("undefined symbol")
	}
	return nil
}

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
	lib := &mock.Interface{ExtensionsFunc: func() nvml.ExtendedInterface { return symbols }}
	d, m := &driver{lib: lib, ready: true}, &meter{}
	want := func(percent float64, after string) {
		t.Helper()
		if got := d.utilization(device, m); got == nil || *got != percent {
			t.Errorf("%s: %v", after, got)
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
	if got := d.utilization(device, m); got != nil {
		t.Errorf("what the driver does not know is %v", *got)
	}
}

// A value that a device does not measure is not known. A lost device is left out, and the others are reported all the same.
func TestUsageIsWhatEachDeviceMeasures(t *testing.T) {
	counts := map[uint32]uint64{nvml.FI_DEV_PCIE_COUNT_RX_BYTES: 1000, nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX: 5}
	unsupported := func() (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	device := &mock.Device{
		GetUUIDFunc:             func() (string, nvml.Return) { return "GPU-a", nvml.SUCCESS },
		GetUtilizationRatesFunc: func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 7}, nvml.SUCCESS },
		GetMemoryInfoFunc:       func() (nvml.Memory, nvml.Return) { return nvml.Memory{Used: 3 << 30}, nvml.SUCCESS },
		GetPowerUsageFunc:       func() (uint32, nvml.Return) { return 350_500, nvml.SUCCESS },
		GetTemperatureFunc:      func(nvml.TemperatureSensors) (uint32, nvml.Return) { return unsupported() },
		GetClockInfoFunc:        func(nvml.ClockType) (uint32, nvml.Return) { return 1980, nvml.SUCCESS },
		GetFieldValuesFunc: func(fields []nvml.FieldValue) nvml.Return {
			for i := range fields {
				count, ok := counts[fields[i].FieldId]
				if !ok {
					fields[i].NvmlReturn = uint32(nvml.ERROR_NOT_SUPPORTED)
				}
				fields[i].ValueType = uint32(nvml.VALUE_TYPE_UNSIGNED_LONG_LONG)
				binary.NativeEndian.PutUint64(fields[i].Value[:], count)
			}
			return nvml.SUCCESS
		},
	}
	lib := &mock.Interface{
		ExtensionsFunc:     func() nvml.ExtendedInterface { return noSymbol{} },
		DeviceGetCountFunc: func() (int, nvml.Return) { return 2, nvml.SUCCESS },
		DeviceGetHandleByIndexFunc: func(i int) (nvml.Device, nvml.Return) {
			if i == 0 {
				return nil, nvml.ERROR_GPU_IS_LOST
			}
			return device, nvml.SUCCESS
		},
	}
	d := &driver{lib: lib, ready: true}
	usage := func() gpu.Usage {
		t.Helper()
		all, err := d.usage()
		if err != nil || len(all) != 1 {
			t.Fatalf("%+v %v", all, err)
		}
		return all[0]
	}
	first := usage()
	if first.UUID != "GPU-a" || *first.Utilization != 7 || *first.MemoryUsedMiB != 3072 || *first.PowerWatts != 350.5 || *first.ClockMHz != 1980 || first.Celsius != nil || first.PCIeReceived != nil {
		t.Errorf("%+v", first)
	}
	counts[nvml.FI_DEV_PCIE_COUNT_RX_BYTES] += 1 << 20
	counts[nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX] = 1 // begun anew
	if next := usage(); next.PCIeReceived == nil || *next.PCIeReceived <= 0 || next.PCIeSent != nil || next.NVLinkSent != nil {
		t.Errorf("%+v", next)
	}
	delete(counts, nvml.FI_DEV_PCIE_COUNT_RX_BYTES)
	if next := usage(); next.PCIeReceived != nil {
		t.Errorf("a counter that is not there: %+v", next)
	}
}

// The hardware's own reasons count, by either name of the driver's function; a power limit that the driver keeps is none.
func TestAGPUThatItsHardwareSlowsDown(t *testing.T) {
	const limit, thermal, brake = 4, 64, 128
	var reasons uint64
	answer := func() (uint64, nvml.Return) { return reasons, nvml.SUCCESS }
	device := &mock.Device{GetCurrentClocksEventReasonsFunc: answer, GetCurrentClocksThrottleReasonsFunc: answer}
	for _, symbols := range []nvml.ExtendedInterface{allSymbols{}, oneSymbol{name: "nvmlDeviceGetCurrentClocksThrottleReasons"}} {
		d := &driver{lib: &mock.Interface{ExtensionsFunc: func() nvml.ExtendedInterface { return symbols }}, ready: true}
		for set, want := range map[uint64]gpu.Slowdown{0: "", limit: "", limit | thermal: gpu.SlowThermal, brake: gpu.SlowPower, thermal | brake: gpu.SlowThermal} {
			if reasons = set; slowdown(device, d.hasFunction) != want {
				t.Errorf("%T, reasons %d: %q", symbols, set, slowdown(device, d.hasFunction))
			}
		}
	}
	device.GetCurrentClocksEventReasonsFunc = func() (uint64, nvml.Return) { return thermal, nvml.ERROR_NOT_SUPPORTED }
	for _, symbols := range []nvml.ExtendedInterface{allSymbols{}, noSymbol{}} {
		d := &driver{lib: &mock.Interface{ExtensionsFunc: func() nvml.ExtendedInterface { return symbols }}, ready: true}
		if got := slowdown(device, d.hasFunction); got != "" {
			t.Errorf("%T: what the driver does not know is %q", symbols, got)
		}
	}
}

// The driver's own reserve counts as used for old drivers alone.
func TestUsedMemoryIsWithoutWhatTheDriverReserves(t *testing.T) {
	device := &mock.Device{
		GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) { return nvml.Memory{Used: 3 << 30}, nvml.SUCCESS },
		GetMemoryInfo_v2Func: func() (nvml.Memory_v2, nvml.Return) {
			return nvml.Memory_v2{Used: 2 << 30, Reserved: 1 << 30}, nvml.SUCCESS
		},
	}
	for _, k := range []struct {
		symbols nvml.ExtendedInterface
		mib     float64
	}{{noSymbol{}, 3072}, {allSymbols{}, 2048}} {
		d := &driver{lib: &mock.Interface{ExtensionsFunc: func() nvml.ExtendedInterface { return k.symbols }}, ready: true}
		if got := d.memoryUsed(device); got == nil || *got != k.mib {
			t.Errorf("%T: %v", k.symbols, got)
		}
	}
}
