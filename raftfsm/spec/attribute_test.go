package spec

import (
	"maps"
	"slices"
	"testing"

	"pinion/gpu"
)

func TestAttributesThatFollowFromGPUs(t *testing.T) {
	h100, a10 := gpu.Device{Model: "NVIDIA H100", MemoryMiB: 81559}, gpu.Device{Model: "NVIDIA A10", MemoryMiB: 23028}
	for _, c := range []struct {
		name string
		gpus gpu.Inventory
		want map[string]string
	}{
		{"no GPUs, whatever the host says", gpu.Inventory{Driver: "535"}, map[string]string{}},
		{"all alike", gpu.Inventory{Driver: "535.104.05", CUDA: "12.2", Devices: []gpu.Device{h100, h100}}, map[string]string{
			gpu.AttributeModel: "NVIDIA H100", AttributeGPUCount: "2", gpu.AttributeMemory: "81559", AttributeDriver: "535.104.05", AttributeCUDA: "12.2",
			AttributeVRAMEnforcement: "none"}},
		{"mixed, driver unknown", gpu.Inventory{Devices: []gpu.Device{h100, a10, h100}}, map[string]string{
			gpu.AttributeModel: "NVIDIA A10, NVIDIA H100", AttributeGPUCount: "3", gpu.AttributeMemory: "23028", AttributeVRAMEnforcement: "none"}},
		{"unified memory", gpu.Inventory{Devices: []gpu.Device{{Model: "GB10"}}}, map[string]string{
			gpu.AttributeModel: "GB10", AttributeGPUCount: "1", AttributeVRAMEnforcement: "none"}},
		{"a simulated host that shares", gpu.Inventory{Devices: []gpu.Device{{Model: "GB10"}}, VRAMEnforcement: gpu.EnforcedByMPS, Simulated: true}, map[string]string{
			gpu.AttributeModel: "GB10", AttributeGPUCount: "1", AttributeVRAMEnforcement: "mps"}},
		{"a host that shares", gpu.Inventory{Devices: []gpu.Device{{Model: "GB10"}}, VRAMEnforcement: gpu.EnforcedByMPS}, map[string]string{
			gpu.AttributeModel: "GB10", AttributeGPUCount: "1", AttributeVRAMEnforcement: "mps"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			said := map[string]string{"rack": "7", AttributeGPUCount: "99"}
			h := Host{Attributes: said, GPUs: c.gpus}
			c.want["rack"] = "7"
			got := h.AllAttributes()
			for _, capability := range h.Capabilities() {
				delete(got, capability.Name)
			}
			if !maps.Equal(got, c.want) {
				t.Errorf("%v", got)
			}
			for _, name := range append(slices.Clone(derivedAttributes), "rack", "none") {
				value, carried := h.Attribute(name)
				if want, shown := c.want[name]; value != want || carried != shown {
					t.Errorf("%s: %q, %t", name, value, carried)
				}
			}
			if said[AttributeGPUCount] != "99" {
				t.Error("the host's own map was changed")
			}
		})
	}
}
