package cgroup

import (
	"strconv"

	"pinion/raftfsm/spec"
)

// MinShares are the CPU shares that ECS gives a container without a CPU request.
const MinShares = 2

// Limits are the limits of a whole task; 0 is no limit.
type Limits struct {
	cpuUnits  int64 // 1024 a core; a hard limit
	shares    int64 // weight relative to other tasks, in CPU units
	memoryMiB int64
}

// TaskLimits returns the task-level limits. A task without a task-level CPU gets the sum of its containers' weights.
func TaskLimits(d *spec.TaskDefinition) Limits {
	var l Limits
	l.cpuUnits, _ = strconv.ParseInt(d.CPU, 10, 64)
	l.memoryMiB, _ = strconv.ParseInt(d.Memory, 10, 64)
	if l.shares = l.cpuUnits; l.shares == 0 {
		for _, c := range d.Containers {
			l.shares += max(c.CPU, MinShares)
		}
	}
	return l
}

// quotaPeriod is the kernel's usual period for CPU limits, in microseconds.
const quotaPeriod = 100_000

// minQuota is the smallest quota that the kernel accepts.
const minQuota = 1000

// quota is the CPU time that the task may use in each period.
func (l Limits) quota() int64 { return max(l.cpuUnits*quotaPeriod/1024, minQuota) }

// cpuWeight converts shares (2 to 262144) to version 2's weight (1 to 10000), as the OCI runtimes do.
func cpuWeight(shares int64) int64 { return 1 + (min(shares, 262144)-2)*9999/262142 }
