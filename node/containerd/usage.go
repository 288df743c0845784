package containerd

import (
	"time"

	"pinion/node/containerd/cgroup"
)

// Meter reads what tasks use.
type Meter struct{ Runtime *Runtime }

// Usage is the CPU time that the containers of a task have taken, and the memory in bytes that they hold; not ok when the task has no cgroup here.
func (m Meter) Usage(taskID string) (cpu time.Duration, memory int64, ok bool) {
	return m.Runtime.cgroups.Usage(cgroup.TaskPath(taskID))
}
