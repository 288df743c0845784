// Package cgroup drives the control groups of tasks and containers, version 1 or 2, by cgroupfs: a task's group has the
// task's limits, and below it runc makes one group for each container.
package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
)

// root is the parent of all cgroups of Pinion's.
const root = "/pinion"

// TaskPath is the cgroup of a task.
func TaskPath(taskID string) string { return filepath.Join(root, taskID) }

// ContainerPath is the cgroup of a container: /pinion/<task>/<container>. The last part comes from the container's id, which is safe as a name.
func ContainerPath(c runtime.ContainerSpec) string {
	return filepath.Join(TaskPath(c.Task.ID), strings.TrimPrefix(c.ID, c.Task.ID+"."))
}

// Manager is the control groups of this machine. Groups are named by their path below the mount point.
type Manager interface {
	// CreateTask makes the group of a task, or finds it, and sets its limits.
	CreateTask(group string, l Limits) error
	// OOMKills counts the processes of the group that the kernel killed for memory.
	OOMKills(group string) int
	// Processes lists the processes in the group and below; none when there is no such group.
	Processes(group string) ([]int, error)
	// Remove removes an empty group; nil when it is not there. A group that is not empty stays, and is no error.
	Remove(group string) error
	// Unified reports version 2: one tree, in which a container may have a namespace of its own.
	Unified() bool
	// CanLimitSwap says whether the kernel can limit swap.
	CanLimitSwap() bool
}

// Detect finds the version that is mounted.
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
