package node

import (
	"context"
	"errors"
	"fmt"

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
		err := retry(ctx, n.config.Log, "ask for assignments", func(ctx context.Context) error {
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
			first = false
		}
	}
}

// applyAssignments starts a runner for each task that is new, passes on the wish to stop, and ends what is not assigned any
// more.
func (n *Node) applyAssignments(ctx context.Context, assigned []spec.Assignment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	wanted := make(map[string]bool, len(assigned))
	for _, a := range assigned {
		wanted[a.Task.ID] = true
		r, known := n.runners[a.Task.ID]
		if !known {
			n.config.Log.Debug("agent: a task is assigned", "task", a.Task.ID)
			n.startRunner(ctx, newRunner(n, a, n.existing[a.Task.ID]))
			delete(n.existing, a.Task.ID)
		} else if a.Task.DesiredStatus == spec.Stopped {
			r.requestStop(a.Task)
		}
	}
	for id, r := range n.runners {
		if !wanted[id] {
			n.unassign(r)
		}
	}
	for id, found := range n.existing {
		n.config.Log.Warn("containers of a task that is not assigned to this host are stopped", "task", id, "containers", len(found))
		r := newRunner(n, orphanAssignment(id, found), found)
		n.startRunner(ctx, r)
		r.abandon()
		delete(n.existing, id)
	}
	close(n.runnersAdded)
	n.runnersAdded = make(chan struct{})
}

// startRunner sets a runner going. Called with the lock held.
func (n *Node) startRunner(ctx context.Context, r *runner) {
	n.runners[r.task.ID] = r
	n.runnerGroup.Go(func() {
		r.run(ctx)
		n.mu.Lock()
		defer n.mu.Unlock()
		r.finished = true
		if isClosed(r.unassigned) {
			delete(n.runners, r.task.ID)
		}
	})
}

// unassign lets go of a runner whose task is not assigned any more, normally because STOPPED was heard. Called with the
// lock held.
func (n *Node) unassign(r *runner) {
	r.abandon()
	if r.finished {
		delete(n.runners, r.task.ID)
	}
}

// stopUnknown stops tasks that the cluster says it does not know.
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

// orphanAssignment makes an assignment of containers whose task is unknown, as much as it takes to stop and remove them.
func orphanAssignment(taskID string, found []ExistingContainer) spec.Assignment {
	task := &spec.Task{ID: taskID, DesiredStatus: spec.Stopped, LastStatus: spec.Pending}
	definition := &spec.TaskDefinition{NetworkMode: networkBridge}
	for _, f := range found {
		task.Containers = append(task.Containers, spec.Container{Name: f.Name, LastStatus: spec.Pending, GPUs: f.GPUs})
		definition.Containers = append(definition.Containers, spec.ContainerDefinition{Name: f.Name})
	}
	return spec.Assignment{Task: task, Definition: definition}
}

// sweepTaskDirs clears away what tasks of the past have left without a container: networks and directories.
func (n *Node) sweepTaskDirs(ctx context.Context) {
	tasks, err := entryNames(tasksRoot(n.config.Dir))
	if err != nil {
		n.config.Log.Warn("directories of former tasks cannot be listed", "err", err)
		return
	}
	for _, id := range tasks {
		if n.runner(id) == nil {
			n.runnerGroup.Go(func() { n.sweepTaskDir(ctx, newTaskDir(n.config.Dir, id)) })
		}
	}
}

func (n *Node) sweepTaskDir(ctx context.Context, s taskDir) {
	_ = retry(ctx, n.config.Log, "clear away a former task", func(ctx context.Context) error {
		containers, err := s.containerIDs()
		if err != nil {
			return err
		}
		for _, id := range containers {
			if err := n.config.Network.Detach(ctx, id); err != nil {
				return err
			}
		}
		return s.remove()
	})
}
