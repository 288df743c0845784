package hostdevice

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// gpuMajors are the numbers that the drivers of GPUs always have: NVIDIA's, and those of the kernel's own.
var gpuMajors = []uint32{195, 226}

// gpuDrivers begin the names of drivers whose devices are GPUs, or lead to them.
var gpuDrivers = []string{"nvidia", "drm", "kfd", "vfio"}

// isGPU reports whether devices of the number belong to a driver of GPUs. Where the kernel does not say which number has which driver, every
// number might.
func isGPU(major uint32) bool {
	drivers, err := os.ReadFile("/proc/devices")
	return err != nil || slices.Contains(gpuMajors, major) || ofGPUDriver(string(drivers), major)
}

// ofGPUDriver looks for the number among the character devices of /proc/devices.
func ofGPUDriver(drivers string, major uint32) bool {
	characters, _, _ := strings.Cut(drivers, "Block devices:")
	for line := range strings.Lines(characters) {
		fields := strings.Fields(line)
		if len(fields) != 2 || fields[0] != strconv.FormatUint(uint64(major), 10) {
			continue
		}
		if slices.ContainsFunc(gpuDrivers, func(driver string) bool { return strings.HasPrefix(fields[1], driver) }) {
			return true
		}
	}
	return false
}

// mountedDisks are the places where disks are mounted, by their numbers.
func mountedDisks() (map[string]string, error) {
	mounts, err := mountinfo.GetMounts(nil)
	where := map[string]string{}
	for _, m := range mounts {
		where[fmt.Sprintf("%d:%d", m.Major, m.Minor)] = m.Mountpoint
	}
	return where, err
}

// partitions are the numbers of the partitions of a disk, and of what is made of it: a disk of device mapper is mounted in its place.
func partitions(major, minor uint32) (numbers []string, err error) {
	disk := fmt.Sprintf("/sys/dev/block/%d:%d", major, minor)
	for _, pattern := range []string{disk + "/*/dev", disk + "/holders/*/dev", disk + "/*/holders/*/dev"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			numbers = append(numbers, strings.TrimSpace(string(text)))
		}
	}
	return numbers, nil
}
