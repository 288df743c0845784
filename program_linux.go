package main

import (
	"os"
	"path/filepath"

	"pinion/api/cli"
	"pinion/gpu/sim"
	"pinion/packaging/host"
)

// program is a host and its command line.
func program() cli.Program {
	// The simulator mounts this binary into containers as nvidia-smi.
	if filepath.Base(os.Args[0]) == "nvidia-smi" {
		os.Exit(sim.SMI(os.Args[1:], os.Stdout))
	}
	build := host.Build{Version: version}
	return cli.Program{
		Version: version, Up: build.Up, Down: host.Down, Doctor: host.Doctor, Unlock: host.Unlock, ContainerGPUs: host.ContainerGPUs,
		Recover: build.Recover, Restore: build.Restore, InspectSnapshot: host.InspectSnapshot, Simulate: host.Simulate,
	}
}
