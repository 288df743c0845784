//go:build cgo

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"

	"pinion/gpu"
	"pinion/gpu/sim"
)

// machine is one whose GPUs are chosen from.
type machine struct {
	name    string
	devices []gpu.Device // index = position
}

// soldMachines are the models of the simulator, as large as they are sold.
var soldMachines = []string{"8xa100", "8xh100", "8xh200", "8xb200", "8xl40s", "8xt4", "16xk80", "1xgb10"}

// openMachines reads the wiring of each model from the simulator itself.
func openMachines(ctx context.Context) (machines []machine, err error) {
	dir, err := os.MkdirTemp("", "pinion-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, spec := range soldMachines {
		source, err := sim.Open(spec, filepath.Join(dir, spec), "")
		if err != nil {
			return nil, err
		}
		inventory, err := source.Inventory(ctx)
		if err := errors.Join(err, source.Close()); err != nil {
			return nil, err
		}
		machines = append(machines, machine{spec, inventory.Devices})
	}
	return machines, nil
}

// drawMachine draws a machine: some pairs with NVLink of any number of lanes, dense or sparse, the others over any path.
func drawMachine(size int, chance *rand.Rand) machine {
	paths := []gpu.LinkKind{gpu.LinkSystem, gpu.LinkNode, gpu.LinkHost, gpu.LinkSwitches, gpu.LinkSwitch}
	devices := make([]gpu.Device, size)
	for i := range devices {
		devices[i] = gpu.Device{UUID: fmt.Sprintf("GPU-%d", i), Index: i, NUMANode: chance.IntN(2), Health: gpu.Healthy}
	}
	density, lanes := chance.Float64(), 1+chance.IntN(18)
	for i := range devices {
		for j := range i {
			link := gpu.Link{Kind: paths[chance.IntN(len(paths))]}
			if chance.Float64() < density {
				link = gpu.Link{Kind: gpu.LinkNVLink, Lanes: 1 + chance.IntN(lanes)}
			}
			for _, ends := range [][2]int{{i, j}, {j, i}} {
				link.Peer = devices[ends[1]].UUID
				devices[ends[0]].Links += gpu.PackLinks(link)
			}
		}
	}
	return machine{fmt.Sprintf("made up, %d GPUs", size), devices}
}

// drawSet draws so many of the first size positions.
func drawSet(size, many int, chance *rand.Rand) (set gpu.DeviceSet) {
	for _, i := range chance.Perm(size)[:many] {
		set |= 1 << i
	}
	return set
}
