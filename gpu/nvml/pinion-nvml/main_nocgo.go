//go:build !cgo

// Pinion-nvml needs cgo to talk to the NVIDIA driver; see main.go.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "pinion-nvml: this build cannot talk to the NVIDIA driver: build it with CGO_ENABLED=1")
	os.Exit(1)
}
