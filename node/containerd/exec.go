package containerd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
	"pinion/raftfsm/execcommand"
)

var _ runtime.Execer = (*Runtime)(nil)

// exitCommandNotFound is the exit code of a command that is missing in the container, the same as in shells.
const exitCommandNotFound = 127

// Exec runs a further command in a running container, with every setting of the container's process except arguments and
// terminal.
func (r *Runtime) Exec(ctx context.Context, id string, c runtime.ExecRequest) (int, error) {
	e := &execProcess{runtime: r, container: id, id: "exec-" + strconv.FormatInt(time.Now().UnixNano(), 36)}
	code, err := e.run(r.inNamespace(ctx), c)
	if err != nil {
		return 0, fmt.Errorf("run a command in container %s: %w", id, err)
	}
	return code, nil
}

// execProcess is one command beside a container's own process: containerd's exec process.
type execProcess struct {
	runtime   *Runtime
	container string
	id        string
}

func (e *execProcess) run(ctx context.Context, c runtime.ExecRequest) (int, error) {
	process, err := processOf(ctx, e.runtime, e.container)
	if err != nil {
		return 0, err
	}
	process.Args, process.Terminal = withSecrets(process.Args, c.Cmd), c.TTY
	if c.TTY {
		process.Env = withTerminal(process.Env)
	}
	if c.TTY && c.Size != (execcommand.TerminalSize{}) {
		process.ConsoleSize = &specs.Box{Width: uint(c.Size.Columns), Height: uint(c.Size.Rows)}
	}
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
	code, started, err := e.startAndWait(ctx, c)
	if !started {
		streams.Cancel() // otherwise the other ends would never be closed
	}
	e.delete(ctx)
	streams.Wait()
	return code, errors.Join(err, streams.Close())
}

// connect creates named pipes for the streams of the request. Where it connects none, what the command writes is discarded: with no streams at all the
// shim would give it a /dev/null that is open for reading alone, and a health check that prints, as curl does, would fail by that.
func (e *execProcess) connect(ctx context.Context, c runtime.ExecRequest) (cio.IO, error) {
	if c.Stdio == (runtime.Stdio{}) {
		return cio.LogURI(&url.URL{Scheme: "file", Path: os.DevNull})(e.id)
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
func (e *execProcess) startAndWait(ctx context.Context, c runtime.ExecRequest) (code int, started bool, err error) {
	service := e.runtime.client.TaskService()
	_, err = service.Start(ctx, &tasks.StartRequest{ContainerID: e.container, ExecID: e.id})
	if err = errgrpc.ToNative(err); err != nil {
		if stopped, _ := e.runtime.taskStopped(ctx, e.container); stopped || errdefs.IsUnavailable(err) || ctx.Err() != nil {
			return 0, false, err
		}
		e.sayNotFound(c, err)
		return exitCommandNotFound, false, nil
	}
	if c.Sizes != nil {
		resizing, stop := context.WithCancel(ctx)
		defer stop()
		go e.resize(resizing, c.Sizes)
	}
	ended, err := service.Wait(ctx, &tasks.WaitRequest{ContainerID: e.container, ExecID: e.id})
	if err != nil {
		return 0, true, errgrpc.ToNative(err)
	}
	return int(ended.ExitStatus), true, nil
}

// sayNotFound writes why a command does not start where its errors would go, as a shell does.
func (e *execProcess) sayNotFound(c runtime.ExecRequest, err error) {
	to := c.Stdio.Stderr
	if c.TTY {
		to = c.Stdio.Stdout
	}
	if to == nil {
		return
	}
	why := err.Error()
	if at := strings.LastIndex(why, "exec: "); at >= 0 {
		why = why[at:]
	}
	end := "\n"
	if c.TTY {
		end = "\r\n"
	}
	_, _ = fmt.Fprintf(to, "pinion: the command does not start: %s%s", strings.TrimSuffix(why, ": unknown"), end) // its exit code says so too
}

// resize gives the command's terminal each of its sizes until ctx ends.
func (e *execProcess) resize(ctx context.Context, sizes <-chan execcommand.TerminalSize) {
	for {
		select {
		case size := <-sizes:
			// It fails when the command has just ended, and then nobody looks at its terminal.
			_, _ = e.runtime.client.TaskService().ResizePty(ctx, &tasks.ResizePtyRequest{
				ContainerID: e.container, ExecID: e.id, Width: uint32(size.Columns), Height: uint32(size.Rows),
			})
		case <-ctx.Done():
			return
		}
	}
}

// withTerminal is an environment with a TERM: without one, programs take a terminal for one that can do nothing.
func withTerminal(env []string) []string {
	if slices.ContainsFunc(env, func(variable string) bool { return strings.HasPrefix(variable, "TERM=") }) {
		return env
	}
	return append(env, "TERM=xterm-256color")
}

// delete removes the execution and kills a command that still runs. Anything that remains is removed with the container.
func (e *execProcess) delete(ctx context.Context) {
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
func processOf(ctx context.Context, r *Runtime, id string) (*specs.Process, error) {
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
