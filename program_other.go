//go:build !linux

package main

import "pinion/api/cli"

// program is the command line alone: hosts are Linux machines.
func program() cli.Program { return cli.Program{Version: version, Client: true} }
