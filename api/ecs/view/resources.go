package view

import (
	"iter"
	"maps"
	"slices"
	"strconv"

	"pinion/api/ecs/types"
	"pinion/raftfsm/spec"
)

func integerResource(name string, n int64) types.Resource {
	return types.Resource{Name: name, Type: "INTEGER", IntegerValue: n}
}

func stringSetResource(name string, values []string) types.Resource {
	return types.Resource{Name: name, Type: "STRINGSET", StringSetValue: nonNil(values)}
}

// registeredResources are the total resources of a host. A host without GPUs has no GPU resource.
func registeredResources(h *spec.Host) []types.Resource {
	resources := []types.Resource{
		integerResource("CPU", h.CPU), integerResource("MEMORY", h.MemoryMiB),
		stringSetResource("PORTS", formatPorts(slices.Values(h.Ports))), stringSetResource("PORTS_UDP", nil),
	}
	if len(h.GPUs.Devices) > 0 {
		resources = append(resources, stringSetResource("GPU", gpuUUIDs(h)))
	}
	return resources
}

// remainingResources are the free CPU, memory and GPUs, and as ECS has it the ports that are in use.
func remainingResources(h *spec.Host, free spec.Free) []types.Resource {
	resources := []types.Resource{
		integerResource("CPU", free.CPU), integerResource("MEMORY", free.MemoryMiB),
		stringSetResource("PORTS", formatPorts(maps.Keys(free.Ports))), stringSetResource("PORTS_UDP", formatPorts(maps.Keys(free.UDPPorts))),
	}
	if len(h.GPUs.Devices) > 0 {
		resources = append(resources, stringSetResource("GPU", free.GPUs))
	}
	return resources
}

func formatPorts(ports iter.Seq[int]) []string {
	var text []string
	for _, port := range slices.Sorted(ports) {
		text = append(text, strconv.Itoa(port))
	}
	return text
}

func gpuUUIDs(h *spec.Host) []string {
	var ids []string
	for _, device := range h.GPUs.Devices {
		ids = append(ids, device.UUID)
	}
	return ids
}

// gpuDevices are the modes of the host's GPUs and what is left of their memory, of a host that shares GPUs alone.
func gpuDevices(h *spec.Host, free spec.Free) (devices []types.GPUDevice) {
	if !h.SharesGPUs() {
		return nil
	}
	for i := range free.Allocations() {
		a := &free.Allocations()[i]
		devices = append(devices, types.GPUDevice{GPUID: a.UUID, SharingMode: string(a.Mode()), ContainerCount: a.Containers(),
			TotalMemoryInMiB: a.TotalMiB, RemainingMemoryInMiB: a.RemainingMiB()})
	}
	return devices
}
