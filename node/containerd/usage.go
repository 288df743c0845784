package containerd

import (
	"time"

	"pinion/node/containerd/cgroup"
)

// Usage is the CPU time that the containers of a task have taken, and the memory in bytes that they hold; not ok when the task has no cgroup here.
func (r *Runtime) Usage(taskID string) (cpu time.Duration, memory int64, ok bool) {
	return r.cgroups.Usage(cgroup.TaskPath(taskID))
}
