package ctrd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"pinion/node/runtime"
	"pinion/raftfsm/spec"
)

// groupsRoot is the parent of all cgroups of Pinion's.
const groupsRoot = "/pinion"

func taskGroup(taskID string) string { return filepath.Join(groupsRoot, taskID) }

// containerGroup is /pinion/<task>/<container>. The last part comes from the container's id, which is safe as a name.
func containerGroup(c runtime.ContainerSpec) string {
	return filepath.Join(taskGroup(c.Task.ID), strings.TrimPrefix(c.ID, c.Task.ID+"."))
}

// limits of a whole task; 0 is no limit.
type limits struct {
	cpuUnits  int64 // 1024 a core; a hard limit
	shares    int64 // weight against other tasks, in CPU units
	memoryMiB int64
}

// parseTaskLimits reads the task-level limits. Without a task-level CPU the task weighs as much as its containers.
func parseTaskLimits(d *spec.TaskDefinition) limits {
	var l limits
	l.cpuUnits, _ = strconv.ParseInt(d.CPU, 10, 64)
	l.memoryMiB, _ = strconv.ParseInt(d.Memory, 10, 64)
	if l.shares = l.cpuUnits; l.shares == 0 {
		for _, c := range d.Containers {
			l.shares += max(c.CPU, minShares)
		}
	}
	return l
}

// cgroupManager are the control groups of this machine, version 1 or 2. Groups are named by their path below the root.
type cgroupManager interface {
	// createTaskGroup makes the group of a task, or finds it, and sets its limits.
	createTaskGroup(group string, l limits) error
	// oomKills counts the processes of the group that the kernel killed for memory.
	oomKills(group string) int
	// processes lists the processes in the group and below; none when there is no such group.
	processes(group string) ([]int, error)
	// remove removes an empty group; nil when it is not there. A group that is not empty stays, and is no error.
	remove(group string) error
	// canLimitSwap says whether the kernel can limit swap.
	canLimitSwap() bool
}

// detectCgroups looks at what is mounted.
func detectCgroups() (cgroupManager, error) {
	const root = "/sys/fs/cgroup"
	var stat unix.Statfs_t
	if err := unix.Statfs(root, &stat); err != nil {
		return nil, fmt.Errorf("cgroups: %w", err)
	}
	if stat.Type == unix.CGROUP2_SUPER_MAGIC {
		return cgroupV2{root: root}, nil
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("cgroups: %w", err)
	}
	separate := cgroupV1{mounts: parseGroupMounts(string(mounts))}
	for _, controller := range []string{"cpu", "memory", "devices"} {
		if separate.mounts[controller] == "" {
			return nil, fmt.Errorf("cgroups: the %s controller is not mounted below %s", controller, root)
		}
	}
	return separate, nil
}

// listProcesses reads cgroup.procs of a group's directory and of those below it.
func listProcesses(dir string) ([]int, error) {
	var pids []int
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return ignoreMissing(err)
		}
		if entry.IsDir() || entry.Name() != "cgroup.procs" {
			return nil
		}
		raw, err := os.ReadFile(path)
		for _, field := range strings.Fields(string(raw)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids = append(pids, pid)
			}
		}
		return ignoreMissing(err)
	})
	return pids, err
}

// removeGroup removes a group's directory with those below it; one that is in use stays.
func removeGroup(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, entry := range entries {
		if entry.IsDir() {
			if err := removeGroup(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && err != unix.EBUSY && err != unix.ENOTEMPTY {
		return ignoreMissing(err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

func writeGroupFile(dir, name, value string) error {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o644); err != nil {
		return fmt.Errorf("set %s to %s: %w", name, value, err)
	}
	return nil
}

// readCounter finds "name N" in a file of counters; 0 when it is not there.
func readCounter(path, name string) int {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), name+" "); ok {
			n, _ := strconv.Atoi(value)
			return n
		}
	}
	return 0
}
