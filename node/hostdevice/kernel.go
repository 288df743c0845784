package hostdevice

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
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

// mountedDisks are the places where disks are mounted, by their numbers. A file system such as btrfs shows a number of its own, so what it was mounted from
// counts too, and so does a disk that has swap.
func mountedDisks() (map[string]string, error) {
	mounts, err := mountinfo.GetMounts(nil)
	where := map[string]string{}
	for _, m := range mounts {
		where[fmt.Sprintf("%d:%d", m.Major, m.Minor)] = m.Mountpoint
		if number := blockNumber(m.Source); number != "" {
			where[number] = m.Mountpoint
		}
	}
	swaps, _ := os.ReadFile("/proc/swaps") // a kernel without swap has none
	for line := range strings.Lines(string(swaps)) {
		file, _, _ := strings.Cut(line, " ")
		if number := blockNumber(file); number != "" {
			where[number] = "swap"
		}
	}
	return where, err
}

// blockNumber is the number of the block device at a path; empty: there is none.
func blockNumber(path string) string {
	var info unix.Stat_t
	if !filepath.IsAbs(path) || unix.Stat(path, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFBLK {
		return ""
	}
	return fmt.Sprintf("%d:%d", unix.Major(uint64(info.Rdev)), unix.Minor(uint64(info.Rdev)))
}

// blockDevices has a directory for each block device, by its number.
const blockDevices = "/sys/dev/block"

// partitions are the numbers of the partitions of a disk, and of what is made of it and of them, one over the other: with LUKS, LVM or RAID it is the last
// one that is mounted.
func partitions(devices, disk string) (numbers []string, err error) {
	seen := map[string]bool{disk: true}
	for next := []string{disk}; len(next) > 0; next = next[1:] {
		for _, pattern := range []string{"*/dev", "holders/*/dev"} {
			files, err := filepath.Glob(filepath.Join(devices, next[0], pattern))
			if err != nil {
				return nil, err
			}
			for _, file := range files {
				text, err := os.ReadFile(file)
				if err != nil {
					return nil, err
				}
				if number := strings.TrimSpace(string(text)); !seen[number] {
					seen[number], next, numbers = true, append(next, number), append(numbers, number)
				}
			}
		}
	}
	return numbers, nil
}
