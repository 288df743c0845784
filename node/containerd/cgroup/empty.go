package cgroup

import (
	"context"
	"fmt"
	"syscall"

	"pinion/packaging/backoff"
)

// Empty kills all processes in a container's cgroup, waits until they have exited, and removes the group. It keeps waiting
// for a process that hangs in the kernel, because the process still holds its resources, GPUs included.
func Empty(ctx context.Context, m Manager, group string) error {
	if group == "" {
		return nil
	}
	for poll := backoff.Poll(); ; {
		pids, err := m.Processes(group)
		if err != nil {
			return fmt.Errorf("cgroup %s: %w", group, err)
		}
		if len(pids) == 0 {
			return m.Remove(group)
		}
		for _, pid := range pids {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		if err := poll.Wait(ctx); err != nil {
			return fmt.Errorf("processes %v of cgroup %s do not end: %w", pids, group, err)
		}
	}
}
