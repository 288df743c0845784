//go:build cgo

package main

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
)

// meter keeps the last readings of a device's counters, which only grow.
type meter struct {
	sampled uint64            // the driver's time of the last sample of utilization
	read    time.Time         // when the counters were read
	bytes   map[uint32]uint64 // counters, by field; one that could not be read is missing
	monitor nvml.GpmSample    // the last one of the performance monitor; nil: none
}

// usage measures all devices. A device that the driver does not reach is left out.
func (d *driver) usage() ([]gpu.Usage, error) {
	if err := d.open(); err != nil {
		return nil, err
	}
	count, ret := d.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, driverError(ret)
	}
	if d.meters == nil {
		d.meters = map[int]*meter{}
	}
	all := []gpu.Usage{}
	for i := range count {
		m := d.meters[i]
		if m == nil {
			m = &meter{}
			d.meters[i] = m
		}
		if usages, err := ask(d, i, func() []gpu.Usage { return d.usagesOf(i, m) }); err == nil {
			all = append(all, usages...)
		}
	}
	return all, nil
}

// usagesOf is the usage of the device with the index, or of its MIG devices.
func (d *driver) usagesOf(index int, m *meter) (all []gpu.Usage) {
	handle, ret := d.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return nil
	}
	uuid, ret := handle.GetUUID()
	if ret != nvml.SUCCESS {
		return nil
	}
	if !d.isPartitioned(handle) {
		return []gpu.Usage{d.usageOf(uuid, handle, m)}
	}
	for _, child := range migHandles(handle) { // the driver counts for the whole GPU, which many may have
		if own, ret := child.GetUUID(); ret == nvml.SUCCESS {
			all = append(all, gpu.Usage{UUID: own, MemoryUsedMiB: d.memoryUsed(child)})
		}
	}
	return all
}

func (d *driver) usageOf(uuid string, handle nvml.Device, m *meter) gpu.Usage {
	u := gpu.Usage{UUID: uuid, Utilization: d.utilization(handle, m)}
	u.MemoryUsedMiB = d.memoryUsed(handle)
	if milliwatts, ret := handle.GetPowerUsage(); ret == nvml.SUCCESS {
		u.PowerWatts = known(float64(milliwatts) / 1000)
	}
	if celsius, ret := handle.GetTemperature(nvml.TEMPERATURE_GPU); ret == nvml.SUCCESS {
		u.Celsius = known(float64(celsius))
	}
	if megahertz, ret := handle.GetClockInfo(nvml.CLOCK_SM); ret == nvml.SUCCESS {
		u.ClockMHz = known(float64(megahertz))
	}
	u.Slowdown = slowdown(handle, d.hasFunction)
	u.SMActivity = m.smActivity(d.lib, handle, d.hasFunction)
	m.traffic(handle, &u, time.Now())
	return u
}

// memoryUsed is the used memory without the driver's own reserve, as nvidia-smi shows it, where the driver can tell the two apart (R510).
func (d *driver) memoryUsed(handle nvml.Device) *float64 {
	if d.hasFunction("nvmlDeviceGetMemoryInfo_v2") {
		if memory, ret := handle.GetMemoryInfo_v2(); ret == nvml.SUCCESS {
			return known(float64(memory.Used) / (1 << 20))
		}
	}
	if memory, ret := handle.GetMemoryInfo(); ret == nvml.SUCCESS {
		return known(float64(memory.Used) / (1 << 20))
	}
	return nil
}

// slowdown is why the hardware of a device holds its clocks down.
func slowdown(handle nvml.Device, hasFunction func(string) bool) gpu.Slowdown {
	var reasons uint64
	ret := nvml.ERROR_FUNCTION_NOT_FOUND
	switch {
	case hasFunction("nvmlDeviceGetCurrentClocksEventReasons"): // R535
		reasons, ret = handle.GetCurrentClocksEventReasons()
	case hasFunction("nvmlDeviceGetCurrentClocksThrottleReasons"):
		reasons, ret = handle.GetCurrentClocksThrottleReasons()
	}
	switch {
	case ret != nvml.SUCCESS:
	case reasons&nvml.ClocksThrottleReasonHwThermalSlowdown != 0:
		return gpu.SlowThermal
	case reasons&nvml.ClocksThrottleReasonHwPowerBrakeSlowdown != 0:
		return gpu.SlowPower
	}
	return ""
}

func known(v float64) *float64 { return &v }

// utilization is for how much of the time a device has computed, in percent: the average of the driver's samples since the call before, of which it
// keeps some seconds. A device without samples answers with its last period.
func (d *driver) utilization(handle nvml.Device, m *meter) *float64 {
	if d.hasFunction("nvmlDeviceGetSamples") {
		kind, samples, ret := handle.GetSamples(nvml.GPU_UTILIZATION_SAMPLES, m.sampled)
		if average, ok := averageOf(samples); ret == nvml.SUCCESS && ok && kind == nvml.VALUE_TYPE_UNSIGNED_INT {
			for _, s := range samples {
				m.sampled = max(m.sampled, s.TimeStamp)
			}
			return &average
		}
	}
	rates, ret := handle.GetUtilizationRates()
	if ret != nvml.SUCCESS {
		return nil
	}
	return known(float64(rates.Gpu))
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

// allLinks is the scope of a field of NVLink that sums over the links of a device.
const allLinks = math.MaxUint32

// traffic fills in the bytes over the links since the call before, from the driver's counters. The first call only reads them.
func (m *meter) traffic(handle nvml.Device, u *gpu.Usage, now time.Time) {
	counters := []struct {
		field nvml.FieldValue
		bytes float64 // of one unit
		into  **float64
	}{
		{nvml.FieldValue{FieldId: nvml.FI_DEV_PCIE_COUNT_RX_BYTES}, 1, &u.PCIeReceived},
		{nvml.FieldValue{FieldId: nvml.FI_DEV_PCIE_COUNT_TX_BYTES}, 1, &u.PCIeSent},
		{nvml.FieldValue{FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_RX, ScopeId: allLinks}, 1 << 10, &u.NVLinkReceived},
		{nvml.FieldValue{FieldId: nvml.FI_DEV_NVLINK_THROUGHPUT_DATA_TX, ScopeId: allLinks}, 1 << 10, &u.NVLinkSent},
	}
	fields := make([]nvml.FieldValue, len(counters))
	for i := range counters {
		fields[i] = counters[i].field
	}
	counted := map[uint32]uint64{}
	if handle.GetFieldValues(fields) == nvml.SUCCESS {
		for i, field := range fields {
			count, ok := unsigned(field)
			if !ok {
				continue
			}
			counted[field.FieldId] = count
			before, ok := m.bytes[field.FieldId]
			if passed := now.Sub(m.read).Seconds(); ok && count >= before && passed > 0 { // a counter that is less has begun anew
				*counters[i].into = known(float64(count-before) * counters[i].bytes / passed / 1e6)
			}
		}
	}
	m.bytes, m.read = counted, now
}

// unsigned is the value of a field that counts; not ok when the device has none.
func unsigned(field nvml.FieldValue) (value uint64, ok bool) {
	if nvml.Return(field.NvmlReturn) != nvml.SUCCESS {
		return 0, false
	}
	switch nvml.ValueType(field.ValueType) {
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return uint64(binary.NativeEndian.Uint32(field.Value[:4])), true
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return binary.NativeEndian.Uint64(field.Value[:]), true
	}
	return 0, false
}
