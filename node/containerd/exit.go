package containerd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/core/containers"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"pinion/node/containerd/cgroup"
	"pinion/node/runtime"
	"pinion/packaging/backoff"
)

// unknownExitCode replaces an exit code that is lost.
const unknownExitCode = -1

// Wait returns the container's exit as soon as it is recorded and its last process is gone. It waits for a daemon that is
// down: the shim keeps the exit code.
func (r *Runtime) Wait(ctx context.Context, id string) (runtime.Exit, error) {
	ctx = r.inNamespace(ctx)
	for poll := backoff.Poll(); ; {
		exit, err := r.waitExit(ctx, id)
		if err == nil || errors.Is(err, runtime.ErrNotFound) {
			return exit, err
		}
		if ctx.Err() != nil {
			return runtime.Exit{}, ctx.Err()
		}
		if !errdefs.IsUnavailable(err) {
			r.config.Log.Warn("waiting for a container failed; trying again", "container", id, "error", err)
		}
		if err := poll.Wait(ctx); err != nil {
			return runtime.Exit{}, err
		}
	}
}

// waitExit waits for the exit once. The exit is recorded before the task is deleted, because the task is the only other
// holder of the exit code; after a crash in between, the next call finds the label and only deletes.
func (r *Runtime) waitExit(ctx context.Context, id string) (runtime.Exit, error) {
	record, err := r.client.ContainerService().Get(ctx, id)
	if errdefs.IsNotFound(err) {
		return runtime.Exit{}, fmt.Errorf("%w: %s", runtime.ErrNotFound, id)
	}
	if err != nil {
		return runtime.Exit{}, err
	}
	if exit := recordedExit(record.Labels); exit != nil {
		return *exit, r.deleteTask(ctx, id, record.Labels[labelCgroup])
	}
	exit, err := r.waitTask(ctx, record)
	if err != nil {
		return runtime.Exit{}, err
	}
	update := containers.Container{ID: id, Labels: map[string]string{labelExit: encodeExit(exit)}}
	if _, err := r.client.ContainerService().Update(ctx, update, "labels."+labelExit); err != nil {
		return runtime.Exit{}, err
	}
	return exit, r.deleteTask(ctx, id, record.Labels[labelCgroup])
}

// waitTask blocks until the container's process has exited, or is known to be lost.
func (r *Runtime) waitTask(ctx context.Context, record containers.Container) (runtime.Exit, error) {
	ended, err := r.client.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: record.ID})
	if err == nil {
		code, group := int(ended.ExitStatus), record.Labels[labelCgroup]
		return runtime.Exit{
			Code:       code,
			At:         ended.ExitedAt.AsTime(),
			OOM:        code != 0 && r.cgroups.OOMKills(group) > 0,
			PeakMemory: r.cgroups.PeakMemory(group),
		}, nil
	}
	if err = errgrpc.ToNative(err); !errdefs.IsNotFound(err) {
		return runtime.Exit{}, err
	}
	lost := "the process that watched over the container (its shim) was killed, or the machine restarted: its exit code is not known"
	if r.started.startedAt(record.ID).IsZero() {
		lost = "the container was made but never started"
	}
	return runtime.Exit{Code: unknownExitCode, At: time.Now(), Lost: lost}, nil
}

// deleteTask deletes the task with its shim, which drains the log, and ensures that no process is left.
func (r *Runtime) deleteTask(ctx context.Context, id, group string) error {
	err := untilAnswered(ctx, func(ctx context.Context) error {
		_, err := r.client.TaskService().Delete(ctx, &tasks.DeleteTaskRequest{ContainerID: id})
		return err
	})
	if err != nil && !errdefs.IsNotFound(err) {
		return fmt.Errorf("delete task: %w", err)
	}
	return cgroup.Empty(ctx, r.cgroups, group)
}
