package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	"github.com/containerd/typeurl/v2"
	"github.com/opencontainers/runtime-spec/specs-go"

	"pinion/node/runtime"
)

var _ runtime.Execer = (*Runtime)(nil)

// exitCommandNotFound is the exit code of a command that is missing in the container, the same as in shells.
const exitCommandNotFound = 127

// Exec runs a further command in a running container, with every setting of the container's process except arguments and
// terminal.
func (r *Runtime) Exec(ctx context.Context, id string, c runtime.ExecRequest) (int, error) {
	e := &execution{runtime: r, container: id, id: "exec-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	code, err := e.run(r.inNamespace(ctx), c)
	if err != nil {
		return 0, fmt.Errorf("run a command in container %s: %w", id, err)
	}
	return code, nil
}

// execution is one command beside a container's own process: containerd's exec process.
type execution struct {
	runtime   *Runtime
	container string
	id        string
}

func (e *execution) run(ctx context.Context, c runtime.ExecRequest) (int, error) {
	process, err := e.runtime.processOf(ctx, e.container)
	if err != nil {
		return 0, err
	}
	process.Args, process.Terminal = c.Cmd, c.TTY
	spec, err := typeurl.MarshalAnyToProto(process)
	if err != nil {
		return 0, err
	}
	streams, err := e.connect(ctx, c)
	if err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, streams.Cancel)() // a child of the command may keep its streams open
	config := streams.Config()
	_, err = e.runtime.client.TaskService().Exec(ctx, &tasks.ExecProcessRequest{
		ContainerID: e.container, ExecID: e.id, Spec: spec,
		Terminal: c.TTY, Stdin: config.Stdin, Stdout: config.Stdout, Stderr: config.Stderr,
	})
	if err != nil {
		streams.Cancel()
		return 0, errors.Join(errgrpc.ToNative(err), streams.Close())
	}
	code, started, err := e.startAndWait(ctx)
	if !started {
		streams.Cancel() // otherwise the other ends would never be closed
	}
	e.delete(ctx)
	streams.Wait()
	return code, errors.Join(err, streams.Close())
}

// connect creates named pipes for the streams of the request; nil when the request connects none.
func (e *execution) connect(ctx context.Context, c runtime.ExecRequest) (cio.IO, error) {
	if c.Stdio == (runtime.Stdio{}) {
		return cio.NullIO(e.id)
	}
	stdio := c.Stdio
	if stdio.Stdin != nil {
		stdio.Stdin = &closingReader{next: stdio.Stdin, close: func() {
			e.runtime.client.TaskService().CloseIO(ctx, &tasks.CloseIORequest{ContainerID: e.container, ExecID: e.id, Stdin: true})
		}}
	}
	for _, output := range []*io.Writer{&stdio.Stdout, &stdio.Stderr} {
		if *output == nil {
			*output = io.Discard // the shim accepts both outputs or none
		}
	}
	options := []cio.Opt{cio.WithStreams(stdio.Stdin, stdio.Stdout, stdio.Stderr), cio.WithFIFODir(filepath.Join(e.runtime.config.Dir, "exec"))}
	if c.TTY {
		options = []cio.Opt{cio.WithStreams(stdio.Stdin, stdio.Stdout, nil), cio.WithFIFODir(filepath.Join(e.runtime.config.Dir, "exec")), cio.WithTerminal}
	}
	return cio.NewCreator(options...)(e.id)
}

// startAndWait starts the command and waits until it has exited.
func (e *execution) startAndWait(ctx context.Context) (code int, started bool, err error) {
	service := e.runtime.client.TaskService()
	_, err = service.Start(ctx, &tasks.StartRequest{ContainerID: e.container, ExecID: e.id})
	if err = errgrpc.ToNative(err); err != nil {
		if stopped, _ := e.runtime.taskStopped(ctx, e.container); stopped || errdefs.IsUnavailable(err) || ctx.Err() != nil {
			return 0, false, err
		}
		return exitCommandNotFound, false, nil
	}
	ended, err := service.Wait(ctx, &tasks.WaitRequest{ContainerID: e.container, ExecID: e.id})
	if err != nil {
		return 0, true, errgrpc.ToNative(err)
	}
	return int(ended.ExitStatus), true, nil
}

// delete removes the execution and kills a command that still runs. Anything that remains is removed with the container.
func (e *execution) delete(ctx context.Context) {
	expired := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killTimeout)
	defer cancel()
	service := e.runtime.client.TaskService()
	if expired {
		service.Kill(ctx, &tasks.KillRequest{ContainerID: e.container, ExecID: e.id, Signal: uint32(syscall.SIGKILL)})
		service.Wait(ctx, &tasks.WaitRequest{ContainerID: e.container, ExecID: e.id})
	}
	service.DeleteProcess(ctx, &tasks.DeleteProcessRequest{ContainerID: e.container, ExecID: e.id})
}

// processOf returns the process of the container's spec.
func (r *Runtime) processOf(ctx context.Context, id string) (*specs.Process, error) {
	record, err := r.client.ContainerService().Get(ctx, id)
	if errdefs.IsNotFound(err) {
		return nil, fmt.Errorf("%w: %s", runtime.ErrNotFound, id)
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

// closingReader calls close once, at the end of its input; containerd then closes the command's stdin.
type closingReader struct {
	next  io.Reader
	close func()
	once  sync.Once
}

func (r *closingReader) Read(p []byte) (int, error) {
	n, err := r.next.Read(p)
	if err != nil {
		r.once.Do(r.close)
	}
	return n, err
}
