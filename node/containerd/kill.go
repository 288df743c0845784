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
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"pinion/node/backoff"
	"pinion/node/containerd/cgroup"
)

// killTimeout is how long a signal is tried again. A shim that is just going away, or a daemon that is just being
// started again, refuses it for a moment.
const killTimeout = 10 * time.Second

// Kill sends a signal to the container's first process, or to all of them when it is SIGKILL.
func (r *Runtime) Kill(ctx context.Context, id string, sig syscall.Signal) error {
	ctx, cancel := context.WithTimeout(r.inNamespace(ctx), killTimeout)
	defer cancel()
	if sig != syscall.SIGKILL {
		r.awaitProgram(ctx, id)
	}
	request := &tasks.KillRequest{ContainerID: id, Signal: uint32(sig), All: sig == syscall.SIGKILL}
	for poll := (backoff.Poll{}); ; {
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

// awaitProgram waits until the container's first process runs the container's own program. For a moment after the
// start it still is runc, which ends with a code of its own when a signal reaches it then.
func (r *Runtime) awaitProgram(ctx context.Context, id string) {
	got, err := r.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: id})
	if err != nil || got.Process.Pid == 0 {
		return // the signal will tell
	}
	comm := "/proc/" + strconv.Itoa(int(got.Process.Pid)) + "/comm"
	for poll := (backoff.Poll{}); ; {
		name, err := os.ReadFile(comm)
		if err != nil || !strings.HasPrefix(string(name), "runc:[") || poll.Wait(ctx) != nil {
			return
		}
	}
}

// taskStopped says whether the container has no running process as far as containerd knows.
func (r *Runtime) taskStopped(ctx context.Context, id string) (bool, error) {
	got, err := r.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: id})
	if err = errgrpc.ToNative(err); err != nil {
		return errdefs.IsNotFound(err), err
	}
	return processStopped(got.Process), nil
}

// Remove forgets the container; what runs of it is killed.
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
	return r.removeTaskGroup(record.Labels[labelTask], 0)
}

// purge removes everything there is of a container, in any state. The snapshot goes last: as long as it is there
// the id is taken.
func (r *Runtime) purge(ctx context.Context, id, group string) error {
	if err := r.killAndWait(ctx, id); err != nil {
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
	if err := r.snapshots().Remove(ctx, id); err != nil && !errdefs.IsNotFound(err) {
		return err
	}
	return nil
}

// killAndWait kills the task, if there is one, and waits until it has ended.
func (r *Runtime) killAndWait(ctx context.Context, id string) error {
	for poll := (backoff.Poll{}); ; {
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

// removeTaskGroup removes the task's cgroup once it holds no container and none is being started, apart from the
// caller's own starts.
func (r *Runtime) removeTaskGroup(taskID string, own int) error {
	if taskID == "" {
		return nil
	}
	return r.starts.ifIdle(taskID, own, func() error { return r.cgroups.Remove(cgroup.TaskPath(taskID)) })
}
