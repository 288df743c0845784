// Package cgroup drives the control groups of tasks and containers, version 1 or 2, by cgroupfs: a task's group has the
// task's limits, and below it runc makes one group for each container.
package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
)

// root is the parent of all of Pinion's cgroups.
const root = "/pinion"

// TaskPath is the cgroup of a task.
func TaskPath(taskID string) string { return filepath.Join(root, taskID) }

// ContainerPath is the cgroup of a container: /pinion/<task>/<container>. The last part comes from the container's id,
// which is a safe file name.
func ContainerPath(c runtime.ContainerSpec) string {
	return filepath.Join(TaskPath(c.Task.ID), strings.TrimPrefix(c.ID, c.Task.ID+"."))
}

// Manager manages the cgroups of this machine. Groups are named by their path below the mount point.
type Manager interface {
	// CreateTask creates the group of a task if it is missing, and sets its limits.
	CreateTask(group string, l Limits) error
	// OOMKills counts the processes of the group that the kernel killed for memory.
	OOMKills(group string) int
	// PeakMemory is the most memory in bytes that the group has used since it was made; 0 when the kernel does not tell.
	PeakMemory(group string) int64
	// Usage is the CPU time that the group has taken since it was made, and the memory in bytes that it holds without what the kernel can drop at
	// once; not ok when the group does not exist.
	Usage(group string) (cpu time.Duration, memory int64, ok bool)
	// CPUTimes is the part of that time that was spent in the programs, and in the kernel for them.
	CPUTimes(group string) (user, kernel time.Duration)
	// BlockIO counts the bytes that the group has read from and written to block devices since it was made; not ok where the kernel does not tell.
	BlockIO(group string) (read, written int64, ok bool)
	// Processes lists the processes in the group and its subgroups; none when the group does not exist.
	Processes(group string) ([]int, error)
	// Remove removes an empty group. A missing group, or one that is not empty and stays, is not an error.
	Remove(group string) error
	// Unified reports cgroup version 2: one tree, in which a container may have a cgroup namespace of its own.
	Unified() bool
	// CanLimitProcesses reports whether the kernel can limit the number of processes.
	CanLimitProcesses() bool
	// CanLimitSwap reports whether the kernel can limit swap.
	CanLimitSwap() bool
}

// Detect returns the manager for the mounted cgroup version.
func Detect() (Manager, error) {
	const mountPoint = "/sys/fs/cgroup"
	var stat unix.Statfs_t
	if err := unix.Statfs(mountPoint, &stat); err != nil {
		return nil, fmt.Errorf("cgroups: %w", err)
	}
	if stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return v2{root: mountPoint}, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cgroups: %w", err)
	}
	byController := v1{mounts: parseGroupMounts(string(mounts))}
	for _, controller := range []string{"cpu", "memory", "devices"} {
		if byController.mounts[controller] == "" {
			return nil, fmt.Errorf("cgroups: the %s controller is not mounted below %s", controller, mountPoint)
		}
	}
	return byController, nil
}
