package containerd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/api/types/task"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/containerd/v2/core/snapshots"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"pinion/node/containerd/cgroup"
	"pinion/node/filetree"
	"pinion/packaging/backoff"
)

// killTimeout bounds how long a refused call of a task is retried. A shim that is exiting, or a daemon that is restarting,
// refuses it for a moment.
const killTimeout = 10 * time.Second

// Kill sends a signal to the container's first process; SIGKILL goes to all its processes.
func (r *Runtime) Kill(ctx context.Context, id string, sig syscall.Signal) error {
	ctx, cancel := context.WithTimeout(r.inNamespace(ctx), killTimeout)
	defer cancel()
	if sig != syscall.SIGKILL {
		r.awaitProgram(ctx, id)
	}
	request := &tasks.KillRequest{ContainerID: id, Signal: uint32(sig), All: sig == syscall.SIGKILL}
	for poll := backoff.Poll(); ; {
		_, err := r.client.TaskService().Kill(ctx, request)
		if err = errgrpc.ToNative(err); err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		if over, _ := r.taskStopped(ctx, id); over {
			return nil
		}
		if poll.Wait(ctx) != nil {
			return fmt.Errorf("send %v to container %s: %w", sig, id, err)
		}
	}
}

// awaitProgram waits until the container's first process executes the container's own program. Just after the start it is
// still runc, which exits with a code of its own when it gets a signal.
func (r *Runtime) awaitProgram(ctx context.Context, id string) {
	got, err := r.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: id})
	if err != nil || got.Process.Pid == 0 {
		return // the signal will tell
	}
	comm := "/proc/" + strconv.Itoa(int(got.Process.Pid)) + "/comm"
	for poll := backoff.Poll(); ; {
		name, err := os.ReadFile(comm)
		if err != nil || !strings.HasPrefix(string(name), "runc:[") || poll.Wait(ctx) != nil {
			return
		}
	}
}

// taskStopped reports whether containerd knows no running process of the container.
func (r *Runtime) taskStopped(ctx context.Context, id string) (bool, error) {
	got, err := r.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: id})
	if err = errgrpc.ToNative(err); err != nil {
		return errdefs.IsNotFound(err), err
	}
	return processStopped(got.Process), nil
}

// Remove removes the container and kills its processes.
func (r *Runtime) Remove(ctx context.Context, id string) error {
	ctx = r.inNamespace(ctx)
	record, err := r.client.ContainerService().Get(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove container %s: %w", id, err)
	}
	if err := r.purge(ctx, id, record.Labels[labelCgroup]); err != nil {
		return fmt.Errorf("remove container %s: %w", id, err)
	}
	return r.removeTaskGroup(ctx, record.Labels[labelTask], 0)
}

// purge removes everything that belongs to a container, in any state. The snapshot is removed last, because it reserves the
// id.
func (r *Runtime) purge(ctx context.Context, id, group string) error {
	if err := r.killToRemove(ctx, id); err != nil {
		return err
	}
	if err := r.deleteTask(ctx, id, group); err != nil {
		return err
	}
	if err := r.client.ContainerService().Delete(ctx, id); err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	if err := r.shims.unpin(ctx, id); err != nil {
		return err
	}
	r.started.remove(id)
	if err := r.secrets.remove(id); err != nil {
		return err
	}
	if err := clearWritable(ctx, r.snapshots(), id); err != nil {
		return err
	}
	if err := r.snapshots().Remove(ctx, id); err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	return nil
}

// clearWritable removes the files of the container's writable layer: however deep its directories are, containerd, which removes the rest, needs no
// open file for each of them.
func clearWritable(ctx context.Context, from snapshots.Snapshotter, id string) error {
	mounts, err := from.Mounts(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("snapshot %s: %w", id, err)
	}
	for _, m := range mounts {
		for _, option := range m.Options {
			if dir, ok := strings.CutPrefix(option, "upperdir="); ok {
				return filetree.Clear(ctx, dir)
			}
		}
	}
	return nil
}

// killToRemove kills the container and waits until it has exited. One that was created and not started is marked first, because once
// killed it looks like one that ran, and Pinion may die before it is removed.
func (r *Runtime) killToRemove(ctx context.Context, id string) error {
	err := untilAnswered(ctx, func(ctx context.Context) error {
		got, err := r.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: id})
		if err != nil || got.Process.Status != task.Status_CREATED {
			return err
		}
		mark := containers.Container{ID: id, Labels: map[string]string{labelNotStarted: "true"}}
		_, err = r.client.ContainerService().Update(ctx, mark, "labels."+labelNotStarted)
		return err
	})
	if errdefs.IsNotFound(err) {
		return orphanedShims{&r.config}.end(id)
	}
	if err != nil {
		return err
	}
	for poll := backoff.Poll(); ; {
		if err := r.Kill(ctx, id, syscall.SIGKILL); err != nil {
			return err
		}
		over, err := r.taskStopped(ctx, id)
		if over {
			return nil
		}
		if waitErr := poll.Wait(ctx); waitErr != nil {
			return errors.Join(waitErr, err)
		}
	}
}

// untilAnswered repeats a call of a task that is refused, for killTimeout at most. It returns the answer: nil, or that the task is not there.
// After that time it returns the last refusal.
func untilAnswered(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	for poll := backoff.Poll(); ; {
		err := errgrpc.ToNative(call(ctx))
		if err == nil || errdefs.IsNotFound(err) || poll.Wait(ctx) != nil {
			return err
		}
	}
}

// removeTaskGroup removes the task's pause container and its cgroup when it holds no container and no other start of the task is in progress.
func (r *Runtime) removeTaskGroup(ctx context.Context, taskID string, own int) error {
	if taskID == "" {
		return nil
	}
	if err := r.pauses.removeUnused(ctx, taskID, own); err != nil {
		return err
	}
	return r.starts.ifIdle(taskID, own, func() error { return r.cgroups.Remove(cgroup.TaskPath(taskID)) })
}
