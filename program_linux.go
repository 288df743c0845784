package main

import (
	"os"
	"path/filepath"

	"pinion/api/cli"
	"pinion/gpu/sim"
	"pinion/packaging"
	"pinion/packaging/host"
	"pinion/packaging/upgrade"
)

// program is a host and its command line.
func program() cli.Program {
	// The simulator mounts this binary into containers as nvidia-smi, and runs it in place of NVIDIA's control of MPS.
	switch filepath.Base(os.Args[0]) {
	case "nvidia-smi":
		os.Exit(sim.SMI(os.Args[1:], os.Stdout))
	case sim.MPSProgram:
		os.Exit(sim.MPSControl(os.Args[1:], os.Stdin, os.Stdout))
	}
	build := host.Build{Version: version, ReleaseKeys: releaseKeys}
	return cli.Program{
		Version: version, Up: host.Restartable(build), Upgrade: upgrade.Host{}, Down: host.Down, Doctor: host.Doctor, Unlock: host.Unlock, ContainerGPUs: host.ContainerGPUs,
		Recover: build.Recover, Restore: build.Restore, InspectSnapshot: host.InspectSnapshot, Simulate: host.Simulate,
		SimulatedGPUs: host.SimulatedGPUs{}, Unit: packaging.Unit,
	}
}
