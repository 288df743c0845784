package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// v2 is cgroup version 2: one tree.
type v2 struct{ root string }

func (g v2) CreateTask(group string, l Limits) error {
	dir := g.root + group
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("task's cgroup: %w", err)
	}
	for _, parent := range []string{g.root, filepath.Dir(dir)} {
		for _, controller := range []string{"+cpu", "+memory"} {
			if err := writeGroupFile(parent, "cgroup.subtree_control", controller); err != nil {
				return fmt.Errorf("task's cgroup: %s: %w", parent, err)
			}
		}
		_ = writeGroupFile(parent, "cgroup.subtree_control", "+io") // it limits nothing: without it nobody knows what a container reads and writes
	}
	settings := [][2]string{{"cpu.weight", strconv.FormatInt(cpuWeight(max(l.shares, MinShares)), 10)}}
	if l.cpuUnits > 0 {
		settings = append(settings, [2]string{"cpu.max", fmt.Sprintf("%d %d", l.quota(), quotaPeriod)})
	}
	if l.memoryMiB > 0 {
		settings = append(settings, [2]string{"memory.max", strconv.FormatInt(l.memoryMiB<<20, 10)})
	}
	for _, s := range settings {
		if err := writeGroupFile(dir, s[0], s[1]); err != nil {
			return fmt.Errorf("task's cgroup: %w", err)
		}
	}
	return nil
}

func (g v2) OOMKills(group string) int {
	return readCounter(g.root+group+"/memory.events", "oom_kill")
}

// PeakMemory needs Linux 5.19.
func (g v2) PeakMemory(group string) int64 { return readNumber(g.root + group + "/memory.peak") }

func (g v2) Usage(group string) (cpu time.Duration, memory int64, ok bool) {
	if _, err := os.Stat(g.root + group); err != nil {
		return 0, 0, false
	}
	cpu = time.Duration(readCounter(g.root+group+"/cpu.stat", "usage_usec")) * time.Microsecond
	memory = readNumber(g.root+group+"/memory.current") - int64(readCounter(g.root+group+"/memory.stat", "inactive_file"))
	return cpu, max(memory, 0), true
}

func (g v2) CPUTimes(group string) (user, kernel time.Duration) {
	stat := g.root + group + "/cpu.stat"
	return time.Duration(readCounter(stat, "user_usec")) * time.Microsecond, time.Duration(readCounter(stat, "system_usec")) * time.Microsecond
}

// BlockIO reads io.stat: a line for each device, "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6".
func (g v2) BlockIO(group string) (read, written int64, ok bool) {
	raw, err := os.ReadFile(g.root + group + "/io.stat")
	if err != nil {
		return 0, 0, false
	}
	for _, field := range strings.Fields(string(raw)) {
		name, value, _ := strings.Cut(field, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "rbytes":
			read += n
		case "wbytes":
			written += n
		}
	}
	return read, written, true
}

func (g v2) Processes(group string) ([]int, error) { return listProcesses(g.root + group) }

func (g v2) Remove(group string) error { return removeGroup(g.root + group) }

func (g v2) Unified() bool { return true }

func (g v2) CanLimitProcesses() bool {
	controllers, err := os.ReadFile(filepath.Join(g.root, "cgroup.controllers"))
	return err == nil && slices.Contains(strings.Fields(string(controllers)), "pids")
}

// CanLimitSwap looks at a group with the limits of memory: the root has none.
func (g v2) CanLimitSwap() bool {
	groups, _ := filepath.Glob(filepath.Join(g.root, "*", "memory.max"))
	for _, memory := range groups {
		_, err := os.Stat(filepath.Join(filepath.Dir(memory), "memory.swap.max"))
		return err == nil
	}
	return true // nobody has limits yet: the kernel counts swap unless it was booted with swapaccount=0
}
