package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pinion/packaging/backoff"
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

// assignmentsTimeout is how long a client that follows a log waits for a host that is not connected to the pool.
const assignmentsTimeout = 30 * time.Second

// waitAssigned waits for the runner of a task that is assigned to this host and has none yet: a client that follows a task right after RunTask, or right
// after the restart of the host, must not get the end of a log that goes on.
func (n *Node) waitAssigned(ctx context.Context, taskID string) error {
	if n.runner(taskID) != nil {
		return nil
	}
	assigned, err := n.readAssignments(ctx)
	if err != nil {
		return fmt.Errorf("whether the log of task %s goes on is not known, as this host is not connected to the pool: %w", taskID, err)
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

// readAssignments returns the assignments of this host. It waits for a host that is not connected, as one that has just started, for a time.
func (n *Node) readAssignments(ctx context.Context) (assigned []spec.Assignment, err error) {
	ctx, cancel := context.WithTimeout(ctx, assignmentsTimeout)
	defer cancel()
	for delays := backoff.Poll(); ; {
		assigned, _, err = n.config.Control.Assignments(ctx, n.config.Host.ID, 0)
		if err == nil || delays.Wait(ctx) != nil {
			return assigned, err
		}
	}
}
