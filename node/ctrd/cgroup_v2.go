package ctrd

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// cgroupV2 is cgroup version 2: one tree.
type cgroupV2 struct{ root string }

func (g cgroupV2) createTaskGroup(group string, l limits) error {
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
	}
	settings := [][2]string{{"cpu.weight", strconv.FormatInt(cpuWeight(max(l.shares, minShares)), 10)}}
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

// cpuWeight turns shares (2 to 262144) into version 2's weight (1 to 10000), as the OCI runtimes do.
func cpuWeight(shares int64) int64 { return 1 + (min(shares, 262144)-2)*9999/262142 }

func (g cgroupV2) oomKills(group string) int {
	return readCounter(g.root+group+"/memory.events", "oom_kill")
}

func (g cgroupV2) processes(group string) ([]int, error) { return listProcesses(g.root + group) }

func (g cgroupV2) remove(group string) error { return removeGroup(g.root + group) }

func (g cgroupV2) canLimitSwap() bool { return true }
