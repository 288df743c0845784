package main

import (
	"context"
	"path/filepath"

	"pinion/gpu"
	"pinion/gpu/sim"
)

// staticGPUs is an inventory that never changes, of GPUs without device nodes that are always as busy.
type staticGPUs struct {
	gpu.Source
	inventory gpu.Inventory
}

// Inventory returns the fixed inventory.
func (s staticGPUs) Inventory(context.Context) (gpu.Inventory, error) { return s.inventory, nil }

// Processes is empty: containers of the fleet have no processes.
func (s staticGPUs) Processes(context.Context, string) ([]int, error) { return nil, nil }

// Usage is of every value that a GPU with NVLink measures.
func (s staticGPUs) Usage(context.Context) ([]gpu.Usage, error) {
	all := make([]gpu.Usage, len(s.inventory.Devices))
	for i := range all {
		v := func(of float64) *float64 { return &of }
		all[i] = gpu.Usage{
			UUID: s.inventory.Devices[i].UUID, Utilization: v(87.5), MemoryUsedMiB: v(40_000), PowerWatts: v(512.25), Celsius: v(61), ClockMHz: v(1980),
			PCIeReceived: v(1234.5), PCIeSent: v(234.5), NVLinkReceived: v(100_000), NVLinkSent: v(100_000),
		}
	}
	return all, nil
}

// inventory returns the GPUs of a new simulated machine, with UUIDs and links of their own.
func inventory(ctx context.Context, spec, dir string) (gpu.Source, error) {
	machine, err := sim.Open(spec, filepath.Join(dir, "sim"), "")
	if err != nil {
		return nil, err
	}
	defer machine.Close()
	known, err := machine.Inventory(ctx)
	return staticGPUs{gpu.None(), known}, err
}
