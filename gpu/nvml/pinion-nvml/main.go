//go:build cgo

// Pinion-nvml talks to the NVIDIA driver, so that the agent does not have to: the driver's library needs cgo, may hang,
// and ends the process that calls a function which it lacks. The agent starts it, asks it (see package protocol) and starts
// it again when it dies.
//
// As `pinion-nvml memory-test UUID` it tests the memory of a GPU, and as `pinion-nvml cdi-hook NAME ...` it is a hook that the container runtime runs to give a container its GPUs.
package main

import (
	"fmt"
	"os"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"golang.org/x/sys/unix"

	"pinion/gpu/nvml/protocol"
)

func main() {
	if err := run(os.Args); err != nil {
		fmt.Fprintln(os.Stderr, "pinion-nvml:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) > 1 && args[1] == hookCommand {
		return runHook(args[1:])
	}
	if len(args) == 3 && args[1] == protocol.MemoryTest {
		return printMemoryTest(args[2])
	}
	if len(args) > 1 {
		return fmt.Errorf("unknown argument %q; the agent starts this program without any", args[1])
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	out, err := ownStdout()
	if err != nil {
		return err
	}
	d := &driver{lib: nvml.New(), root: "/", self: self, fabric: fabricInfo}
	return serve(os.Stdin, out, d)
}

// ownStdout keeps the standard output for messages alone: what the driver's library prints there goes to the log.
func ownStdout() (*os.File, error) {
	fd, err := unix.Dup(unix.Stdout)
	if err != nil {
		return nil, fmt.Errorf("duplicating standard output: %w", err)
	}
	if err := unix.Dup3(unix.Stderr, unix.Stdout, 0); err != nil {
		return nil, fmt.Errorf("redirecting standard output: %w", err)
	}
	return os.NewFile(uintptr(fd), "messages"), nil
}
