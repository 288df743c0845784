package containerd

import (
	"context"
	"fmt"
	"net"
	"os"
	goruntime "runtime"
	"strconv"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"golang.org/x/sys/unix"

	"pinion/node/runtime"
)

// loopback is the address of programs that serve their own container alone, and of those that listen on all addresses.
const loopback = "127.0.0.1"

// Dial connects to a TCP port of a running container, from inside its network namespace.
func (r *Runtime) Dial(ctx context.Context, id string, port int) (net.Conn, error) {
	namespace, err := networkNamespace(r.inNamespace(ctx), r, id)
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	type dialled struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialled, 1)
	go func() {
		goruntime.LockOSThread() // and never unlocked: the thread ends with this goroutine, and nothing else runs in the container's network
		var d dialled
		if d.err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); d.err == nil {
			d.conn, d.err = new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		}
		done <- d
	}()
	d := <-done
	return d.conn, d.err
}

// networkNamespace opens the network namespace of a running container.
func networkNamespace(ctx context.Context, r *Runtime, id string) (*os.File, error) {
	pid, err := runningPID(ctx, r, id)
	if err != nil {
		return nil, err
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, fmt.Errorf("the network of container %s: %w", id, err)
	}
	// A process that still runs has had its id all the time: what was opened is its own.
	if again, err := runningPID(ctx, r, id); err != nil || again != pid {
		file.Close()
		return nil, fmt.Errorf("%w: %s does not run any more", runtime.ErrNotFound, id)
	}
	return file, nil
}

// runningPID is the id of the container's first process.
func runningPID(ctx context.Context, r *Runtime, id string) (uint32, error) {
	got, err := r.client.TaskService().Get(ctx, &tasks.GetRequest{ContainerID: id})
	if err = errgrpc.ToNative(err); errdefs.IsNotFound(err) || err == nil && (processStopped(got.Process) || got.Process.Pid == 0) {
		return 0, fmt.Errorf("%w: %s does not run", runtime.ErrNotFound, id)
	}
	if err != nil {
		return 0, err
	}
	return got.Process.Pid, nil
}
