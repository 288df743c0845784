// Pinion runs GPU containers on your own machines the way Amazon ECS runs them on AWS: one binary on every host.
package main

import (
	"context"
	"os"
	"path/filepath"

	"pinion/api/cli"
	"pinion/gpu/sim"
	"pinion/packaging/host"
)

// version is set by the linker.
var version = "dev"

func main() {
	// The simulator mounts this binary into containers as nvidia-smi.
	if filepath.Base(os.Args[0]) == "nvidia-smi" {
		os.Exit(sim.SMI(os.Args[1:], os.Stdout))
	}
	build := host.Build{Version: version}
	os.Exit(cli.Main(context.Background(), cli.Program{
		Version: version, Up: build.Up, Down: host.Down, Doctor: host.Doctor, Unlock: host.Unlock, ContainerGPUs: host.ContainerGPUs,
		Recover: build.Recover, Restore: build.Restore, InspectSnapshot: host.InspectSnapshot, Simulate: host.Simulate,
	}, os.Args))
}
