// Package machine describes the machine that Pinion runs on: the resources that it can give to tasks, and the features that it lacks.
package machine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// ReservedMiB is kept back for the machine itself and for Pinion.
const ReservedMiB = 512

// UnitsPerCore is ECS's measure of CPU.
const UnitsPerCore = 1024

// Resources are the resources of the machine that tasks can be given.
type Resources struct {
	CPU       int64 // ECS units, 1024 a core
	MemoryMiB int64 // total less ReservedMiB
}

// Measure reads the machine's size.
func Measure() (Resources, error) {
	total, err := totalMemoryMiB("/proc/meminfo")
	if err != nil {
		return Resources{}, err
	}
	return Resources{CPU: int64(runtime.NumCPU()) * UnitsPerCore, MemoryMiB: max(total-ReservedMiB, 0)}, nil
}

func totalMemoryMiB(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib / 1024, err
		}
	}
	return 0, fmt.Errorf("%s has no MemTotal line", path)
}

// Attributes are ECS's built-in attributes that are true of every host of this kind. What only an operator can know
// (ecs.instance-type, ecs.availability-zone) comes from `pinion up --attribute`.
func Attributes() map[string]string {
	arch := map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return map[string]string{
		"ecs.os-type":          "linux",
		"ecs.os-family":        "LINUX",
		"ecs.cpu-architecture": arch,
	}
}
