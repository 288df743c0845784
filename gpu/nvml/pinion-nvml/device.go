//go:build cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"pinion/gpu"
)

// reading is what the driver tells of one device.
type reading struct {
	handle nvml.Device
	device gpu.Device
	parts  []gpu.Device // its MIG devices, of one in MIG mode
	up     lanes
	fabric fabricState
	joined bool // it has joined a fabric
	err    error
}

// readDevice reads the device with the index.
func (d *driver) readDevice(index int) (r reading) {
	handle, ret := d.lib.DeviceGetHandleByIndex(index)
	if ret != nvml.SUCCESS {
		return reading{err: ret}
	}
	r.handle = handle
	if r.device, r.err = d.device(index, handle); r.err != nil {
		return r
	}
	if d.isPartitioned(handle) {
		if r.parts = d.migDevices(&r.device, handle); len(r.parts) > 0 {
			return r
		}
		r.device.EmptyMIG = r.device.Health == gpu.Healthy
		r.device.Health, r.device.Problem = gpu.Unhealthy, "it is in MIG mode and has no MIG device: make some with `nvidia-smi mig -cgi PROFILE -C`, or turn MIG off with `nvidia-smi -mig 0`"
	}
	r.up = d.lanesUp(handle)
	r.fabric, r.joined = d.fabricState(handle)
	return r
}

// device reads one device, without its links. It fails only when the device has no readable UUID.
func (d *driver) device(index int, handle nvml.Device) (gpu.Device, error) {
	uuid, ret := handle.GetUUID()
	if ret != nvml.SUCCESS {
		return gpu.Device{}, ret
	}
	var failed problem
	device := gpu.Device{UUID: uuid, Index: index, Minor: -1, Health: gpu.Healthy}
	device.Model, _ = read(&failed, "name", handle.GetName)
	if minor, ok := read(&failed, "minor number", handle.GetMinorNumber); ok {
		device.Minor = minor
	}
	if pci, ok := read(&failed, "PCI address", handle.GetPciInfo); ok {
		device.PCI = busID(pci)
	}
	if memory, ok := read(&failed, "memory", handle.GetMemoryInfo); ok {
		device.MemoryMiB = int64(memory.Total >> 20)
	}
	if major, minor, ret := handle.GetCudaComputeCapability(); ret == nvml.SUCCESS {
		device.ComputeCapability = fmt.Sprintf("%d.%d", major, minor)
	}
	device.NUMANode = d.numaNode(device.PCI)
	d.checkHealth(&failed, handle)
	if failed.text != "" {
		device.Health, device.Problem = failed.health, failed.text
	}
	return device, nil
}

// problem is the first error of a device; without text when there is none.
type problem struct {
	health gpu.Health
	text   string
}

func (t *problem) add(health gpu.Health, format string, args ...any) {
	if t.text == "" {
		*t = problem{health, fmt.Sprintf(format, args...)}
	}
}

func (t *problem) addFinding(found gpu.Finding) {
	if found.Problem != "" {
		t.add(found.Health, "%s", found.Problem)
	}
}

// read queries one property from the driver. ok is false when the property does not exist or the query failed; a failure is
// recorded as the problem.
func read[T any](failed *problem, what string, ask func() (T, nvml.Return)) (value T, ok bool) {
	value, ret := ask()
	switch {
	case ret == nvml.ERROR_GPU_IS_LOST:
		failed.add(gpu.Lost, "the driver does not reach it any more (its %s cannot be read): %s", what, gpu.Lost.RecoveryAction())
	case ret != nvml.SUCCESS && !notSupported(ret):
		failed.add(gpu.Unhealthy, "its %s cannot be read: %v", what, ret)
	}
	return value, ret == nvml.SUCCESS
}

// busID returns the PCI address in the driver's format, "00000000:1B:00.0".
func busID(pci nvml.PciInfo) string {
	var id strings.Builder
	for _, c := range pci.BusId {
		if c == 0 {
			break
		}
		id.WriteByte(byte(c))
	}
	return strings.ToUpper(id.String())
}

// numaNode returns the NUMA node of the CPUs that the device is attached to, -1 when the machine has no NUMA. The driver's
// GetNumaNodeId is no substitute: it is about the device's memory.
func (d *driver) numaNode(pci string) int {
	// The kernel writes the domain with four digits, the driver with eight.
	domain, rest, _ := strings.Cut(strings.ToLower(pci), ":")
	if len(domain) > 4 {
		domain = domain[len(domain)-4:]
	}
	text, err := os.ReadFile(filepath.Join(d.root, "sys/bus/pci/devices", domain+":"+rest, "numa_node"))
	if err != nil {
		return -1
	}
	node, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return -1
	}
	return node
}
