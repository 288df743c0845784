//go:build !linux

package main

import (
	"pinion/api/cli"
	"pinion/packaging"
)

// program is the command line alone: hosts are Linux machines.
func program() cli.Program { return cli.Program{Version: version, Client: true, Unit: packaging.Unit} }
