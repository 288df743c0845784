package node

import (
	"context"
	"fmt"
	"slices"

	"pinion/raftfsm/spec"
)

// Logs calls emit for each line of a task of this host, oldest first. It returns when the query is answered, or,
// following, when the task's containers are gone and their logs are drained. An error of emit ends it and is
// returned.
func (n *Node) Logs(ctx context.Context, q spec.LogQuery, emit func(spec.LogLine) error) error {
	if q.Tail < 0 || q.Tail > spec.MaxLogTail {
		return fmt.Errorf("the tail of a log may be %d lines, not %d", spec.MaxLogTail, q.Tail)
	}
	if q.Follow {
		if err := n.waitAssigned(ctx, q.Task); err != nil {
			return err
		}
	}
	return n.config.Logs.Read(ctx, q, n.logsDone(q.Task), emit)
}

// logsDone is closed when the task has no container here, and none to come, that may write to its log.
func (n *Node) logsDone(taskID string) <-chan struct{} {
	if r := n.runner(taskID); r != nil {
		return r.LogsDone()
	}
	none := make(chan struct{})
	close(none)
	return none
}

// waitAssigned waits for the runner of a task that is assigned to this host and has none yet: a client that follows a task
// right after RunTask must not get the end of a log that has not begun.
func (n *Node) waitAssigned(ctx context.Context, taskID string) error {
	if n.runner(taskID) != nil {
		return nil
	}
	assigned, _, err := n.config.Control.Assignments(ctx, n.config.Host.ID, 0)
	if err != nil {
		n.config.Log.Warn("assignments cannot be read; a followed task may be still to come", "task", taskID, "error", err)
		return ctx.Err()
	}
	if !slices.ContainsFunc(assigned, func(a spec.Assignment) bool { return a.Task.ID == taskID }) {
		return nil
	}
	for {
		n.mu.Lock()
		_, here := n.runners[taskID]
		arrived := n.runnersAdded
		n.mu.Unlock()
		if here {
			return nil
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
