package node

import (
	"context"
	"errors"
	"fmt"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/packaging/backoff"
	"pinion/packaging/failpoint"
	"pinion/raftfsm/spec"
)

// watchAssignments keeps the runners in step with what the cluster has assigned to this host.
//
// The index only grows, so that an answer from the past cannot bring back a task that has ended meanwhile: its
// containers are removed, and nothing but the runner's own memory would keep it from starting again. A cluster that
// does not know this host at all begins anew, and is asked for work only after it has taken what runs here.
func (n *Node) watchAssignments(ctx context.Context) {
	var after uint64
	first := true
	for ctx.Err() == nil {
		var assigned []spec.Assignment
		err := backoff.Retry(ctx, n.config.Log, "ask for assignments", func(ctx context.Context) error {
			all, index, err := n.config.Control.Assignments(ctx, n.config.Host.ID, after)
			if errors.Is(err, spec.ErrNotFound) {
				after = 0
				n.rejoinAndWait(ctx, err)
			}
			if err != nil {
				return err
			}
			if index < after {
				return fmt.Errorf("the answer is of index %d, older than %d", index, after)
			}
			assigned, after = all, index
			return nil
		})
		if err != nil {
			return
		}
		n.applyAssignments(ctx, assigned)
		if first {
			n.sweepTaskDirs(ctx)
			close(n.Assigned)
			first = false
		}
	}
}

// applyAssignments starts a runner for each new task, passes on requests to stop, time limits and digests, and abandons the tasks that
// are not assigned any more.
func (n *Node) applyAssignments(ctx context.Context, assigned []spec.Assignment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wanted := make(map[string]bool, len(assigned))
	for _, a := range assigned {
		wanted[a.Task.ID] = true
		r, known := n.runners[a.Task.ID]
		if !known {
			n.config.Log.Debug("agent: a task is assigned", "task", a.Task.ID)
			failpoint.Reached(failpoint.TaskAssigned)
			n.startRunner(ctx, task.New(n.tasks, a, n.existing[a.Task.ID]))
			delete(n.existing, a.Task.ID)
		} else if a.Task.DesiredStatus == spec.Stopped {
			r.RequestStop(a.Task)
		} else {
			r.Update(a.Task)
		}
	}
	for id, r := range n.runners {
		if !wanted[id] {
			n.unassign(r)
		}
	}
	for id, existing := range n.existing {
		n.config.Log.Warn("containers of a task that is not assigned to this host are stopped", "task", id, "containers", len(existing))
		r := task.New(n.tasks, orphanAssignment(id, existing), existing)
		n.startRunner(ctx, r)
		r.Abandon()
		delete(n.existing, id)
	}
	close(n.runnersAdded)
	n.runnersAdded = make(chan struct{})
}

// startRunner starts a runner. Called with the lock held.
func (n *Node) startRunner(ctx context.Context, runner *task.Runner) {
	r := &runningTask{Runner: runner}
	n.runners[r.ID()] = r
	n.runnerGroup.Go(func() {
		r.Run(ctx)
		n.mu.Lock()
		defer n.mu.Unlock()
		r.finished = true
		if r.Abandoned() {
			n.forget(r)
		}
	})
}

// unassign abandons a task that is not assigned any more, normally because its STOPPED was recorded. Called with the
// lock held.
func (n *Node) unassign(r *runningTask) {
	r.Abandon()
	if r.finished {
		n.forget(r)
	}
}

// forget removes a runner that has nothing left on this host. Called with the lock held.
func (n *Node) forget(r *runningTask) {
	if n.runners[r.ID()] == r {
		delete(n.runners, r.ID())
	}
}

// stopUnknown stops tasks that the pool says it does not know.
func (n *Node) stopUnknown(unknown []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, id := range unknown {
		if r, ok := n.runners[id]; ok {
			n.config.Log.Warn("the cluster does not know a task of this host, it is stopped", "task", id)
			n.unassign(r)
		}
	}
}

// orphanAssignment makes an assignment for containers of an unknown task: enough to stop and remove them.
func orphanAssignment(taskID string, existing []runtime.ExistingContainer) spec.Assignment {
	unknown := &spec.Task{ID: taskID, DesiredStatus: spec.Stopped, LastStatus: spec.Pending}
	definition := &spec.TaskDefinition{NetworkMode: runtime.NetworkBridge}
	for _, c := range existing {
		unknown.Containers = append(unknown.Containers, spec.Container{Name: c.Name, LastStatus: spec.Pending, GPUs: c.GPUs})
		definition.Containers = append(definition.Containers, spec.ContainerDefinition{Name: c.Name})
	}
	return spec.Assignment{Task: unknown, Definition: definition}
}

// sweepTaskDirs removes the networks and directories of former tasks that have no container.
func (n *Node) sweepTaskDirs(ctx context.Context) {
	ids, err := task.ListDirs(n.config.Dir)
	if err != nil {
		n.config.Log.Warn("directories of former tasks cannot be listed", "error", err)
		return
	}
	if err := task.SweepIDs(n.config.Dir); err != nil {
		n.config.Log.Warn("ids of the user namespaces of former tasks cannot be given back", "error", err)
	}
	for _, id := range ids {
		if n.runner(id) == nil {
			n.runnerGroup.Go(func() {
				_ = backoff.Retry(ctx, n.config.Log, "clear away a former task", func(ctx context.Context) error {
					return task.RemoveDir(ctx, n.config.Dir, id, n.config.Network)
				})
			})
		}
	}
}
