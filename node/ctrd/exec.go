package ctrd

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	"github.com/opencontainers/runtime-spec/specs-go"

	"pinion/node"
)

var _ node.Execer = (*Runtime)(nil)

// exitCommandNotFound is the exit code of a command that the container does not have, as shells have it.
const exitCommandNotFound = 127

// Exec runs a command in the container beside its own process, with everything but the arguments as that has it. Its
// output goes nowhere.
func (r *Runtime) Exec(ctx context.Context, id string, command []string) (int, error) {
	ctx = r.inNamespace(ctx)
	process, err := r.processOf(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("check container %s: %w", id, err)
	}
	process.Args, process.Terminal = command, false
	spec, err := typeurl.MarshalAnyToProto(process)
	if err != nil {
		return 0, fmt.Errorf("check container %s: %w", id, err)
	}
	execID := "check-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	_, err = r.client.TaskService().Exec(ctx, &tasks.ExecProcessRequest{ContainerID: id, ExecID: execID, Spec: spec})
	if err != nil {
		return 0, fmt.Errorf("check container %s: %w", id, errgrpc.ToNative(err))
	}
	defer r.deleteExec(ctx, id, execID)
	code, err := r.runExec(ctx, id, execID)
	if err != nil {
		return 0, fmt.Errorf("check container %s: %w", id, err)
	}
	return code, nil
}

// processOf is the container's own process as its spec has it.
func (r *Runtime) processOf(ctx context.Context, id string) (*specs.Process, error) {
	record, err := r.client.ContainerService().Get(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %s", node.ErrNotFound, id)
	}
	if err != nil {
		return nil, err
	}
	var spec specs.Spec
	if err := json.Unmarshal(record.Spec.GetValue(), &spec); err != nil {
		return nil, fmt.Errorf("its spec: %w", err)
	}
	if spec.Process == nil {
		return nil, fmt.Errorf("its spec has no process")
	}
	return spec.Process, nil
}

// runExec starts the command and waits for it.
func (r *Runtime) runExec(ctx context.Context, id, execID string) (int, error) {
	_, err := r.client.TaskService().Start(ctx, &tasks.StartRequest{ContainerID: id, ExecID: execID})
	if err = errgrpc.ToNative(err); err != nil {
		if over, _ := r.taskStopped(ctx, id); over || errdefs.IsUnavailable(err) || ctx.Err() != nil {
			return 0, err
		}
		return exitCommandNotFound, nil
	}
	ended, err := r.client.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: id, ExecID: execID})
	if err != nil {
		return 0, errgrpc.ToNative(err)
	}
	return int(ended.ExitStatus), nil
}

// deleteExec removes what there is of a check; one that still runs is killed. What is left goes with the container.
func (r *Runtime) deleteExec(ctx context.Context, id, execID string) {
	expired := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	if expired {
		r.client.TaskService().Kill(ctx, &tasks.KillRequest{ContainerID: id, ExecID: execID, Signal: uint32(syscall.SIGKILL)})
		r.client.TaskService().Wait(ctx, &tasks.WaitRequest{ContainerID: id, ExecID: execID})
	}
	r.client.TaskService().DeleteProcess(ctx, &tasks.DeleteProcessRequest{ContainerID: id, ExecID: execID})
}
