package cgroup

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// v1 is cgroup version 1: a tree for each controller.
type v1 struct {
	mounts map[string]string // controller, or "name=systemd", or "" for a version 2 tree beside them -> mount point
}

// parseGroupMounts reads /proc/self/mountinfo.
func parseGroupMounts(mountinfo string) map[string]string {
	mounts := map[string]string{}
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(rest) < 3 {
			continue
		}
		switch rest[0] {
		case "cgroup2":
			mounts[""] = fields[4]
		case "cgroup":
			for option := range strings.SplitSeq(rest[2], ",") {
				if option != "rw" && option != "ro" {
					mounts[option] = fields[4]
				}
			}
		}
	}
	return mounts
}

func (g v1) CreateTask(group string, l Limits) error {
	cpu, memory := g.mounts["cpu"]+group, g.mounts["memory"]+group
	if err := errors.Join(os.MkdirAll(cpu, 0o755), os.MkdirAll(memory, 0o755)); err != nil {
		return fmt.Errorf("task's cgroup: %w", err)
	}
	err := writeGroupFile(cpu, "cpu.shares", strconv.FormatInt(max(l.shares, MinShares), 10))
	if l.cpuUnits > 0 {
		err = errors.Join(err, writeGroupFile(cpu, "cpu.cfs_period_us", strconv.Itoa(quotaPeriod)),
			writeGroupFile(cpu, "cpu.cfs_quota_us", strconv.FormatInt(l.quota(), 10)))
	}
	if l.memoryMiB > 0 {
		err = errors.Join(err, writeGroupFile(memory, "memory.limit_in_bytes", strconv.FormatInt(l.memoryMiB<<20, 10)))
	}
	if err != nil {
		return fmt.Errorf("task's cgroup: %w", err)
	}
	return nil
}

func (g v1) OOMKills(group string) int {
	return readCounter(g.mounts["memory"]+group+"/memory.oom_control", "oom_kill")
}

func (g v1) PeakMemory(group string) int64 {
	return readNumber(g.mounts["memory"] + group + "/memory.max_usage_in_bytes")
}

func (g v1) Usage(group string) (cpu time.Duration, memory int64, ok bool) {
	if _, err := os.Stat(g.mounts["memory"] + group); err != nil {
		return 0, 0, false
	}
	used := readNumber(g.mounts["memory"]+group+"/memory.usage_in_bytes") - int64(readCounter(g.mounts["memory"]+group+"/memory.stat", "total_inactive_file"))
	return g.cpuTime(group), max(used, 0), true
}

func (g v1) cpuTime(group string) time.Duration {
	return time.Duration(readNumber(g.cpuacct(group) + "/cpuacct.usage"))
}

func (g v1) CPUTimes(group string) (user, kernel time.Duration) {
	return time.Duration(readNumber(g.cpuacct(group) + "/cpuacct.usage_user")), time.Duration(readNumber(g.cpuacct(group) + "/cpuacct.usage_sys"))
}

// cpuacct is the group's directory where CPU times are, mostly mounted with cpu.
func (g v1) cpuacct(group string) string {
	if mount := g.mounts["cpuacct"]; mount != "" {
		return mount + group
	}
	return g.mounts["cpu"] + group
}

// BlockIO reads blkio.throttle.io_service_bytes: lines for each device, "8:0 Read 1", and one of all, "Total 3".
func (g v1) BlockIO(group string) (read, written int64, ok bool) {
	raw, err := os.ReadFile(g.mounts["blkio"] + group + "/blkio.throttle.io_service_bytes")
	if g.mounts["blkio"] == "" || err != nil {
		return 0, 0, false
	}
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		n, _ := strconv.ParseInt(fields[2], 10, 64)
		switch fields[1] {
		case "Read":
			read += n
		case "Write":
			written += n
		}
	}
	return read, written, true
}

func (g v1) Processes(group string) ([]int, error) {
	return listProcesses(g.mounts["devices"] + group)
}

func (g v1) Remove(group string) error {
	var failed []error
	for _, mount := range g.mounts {
		failed = append(failed, removeGroup(mount+group))
	}
	return errors.Join(failed...)
}

func (g v1) Unified() bool { return false }

func (g v1) CanLimitProcesses() bool { return g.mounts["pids"] != "" }

func (g v1) CanLimitSwap() bool {
	_, err := os.Stat(filepath.Join(g.mounts["memory"], "memory.memsw.limit_in_bytes"))
	return err == nil
}
