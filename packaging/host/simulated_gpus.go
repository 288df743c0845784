package host

import (
	"fmt"
	"os"
	"path/filepath"

	"pinion/api/cli"
	"pinion/gpu/sim"
)

// SimulatedGPUs changes the simulated GPUs of hosts on this machine.
type SimulatedGPUs struct{}

var _ cli.SimulatedGPUs = SimulatedGPUs{}

// Xid is of cli.SimulatedGPUs, as are the others.
func (SimulatedGPUs) Xid(dataDir string, index int, code uint64) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.WriteFault(dir, index, code) })
}

// Break breaks a GPU.
func (SimulatedGPUs) Break(dataDir string, index int, reason string) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.Break(dir, index, reason) })
}

// Mend mends a GPU.
func (SimulatedGPUs) Mend(dataDir string, index int) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.Mend(dir, index) })
}

// SetNVLinksDown has NVLinks of a GPU be down.
func (SimulatedGPUs) SetNVLinksDown(dataDir string, index int, down string) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.SetNVLinksDown(dir, index, down) })
}

// SetFabricState sets the state of the NVLink fabric of a GPU.
func (SimulatedGPUs) SetFabricState(dataDir string, index int, state string) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.SetFabricState(dir, index, state) })
}

// SetSlowdown has a GPU slow itself down.
func (SimulatedGPUs) SetSlowdown(dataDir string, index int, reason string) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.SetSlowdown(dir, index, reason) })
}

// Hang has the driver not answer about a GPU.
func (SimulatedGPUs) Hang(dataDir string, index int) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.Hang(dir, index) })
}

// HangDriver has the driver answer nothing.
func (SimulatedGPUs) HangDriver(dataDir string, hang bool) error {
	return withSimulator(dataDir, 0, func(dir string) error { return sim.HangDriver(dir, hang) })
}

// Unplug takes a GPU out.
func (SimulatedGPUs) Unplug(dataDir string, index int) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.Unplug(dir, index) })
}

// Plug puts a GPU back.
func (SimulatedGPUs) Plug(dataDir string, index int) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.Plug(dir, index) })
}

// SetUtilization sets how busy a GPU is.
func (SimulatedGPUs) SetUtilization(dataDir string, index int, load string) error {
	return withSimulator(dataDir, index, func(dir string) error { return sim.SetUtilization(dir, index, load) })
}

// withSimulator calls f with the directory of a simulator that has the GPU.
func withSimulator(dataDir string, index int, f func(dir string) error) error {
	dir := filepath.Join(dataDir, "sim")
	if _, err := os.Stat(filepath.Join(dir, "broken")); err != nil {
		return fmt.Errorf("no simulated GPUs in %s: start the host with --gpus sim:8xh100, and name its directory with --data-dir", dataDir)
	}
	if !sim.Has(dir, index) {
		return fmt.Errorf("the simulated machine has no GPU %d", index)
	}
	return f(dir)
}
