package node

import (
	"context"
	"fmt"
	"io"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/execcommand"
	"pinion/raftfsm/spec"
)

// Exec runs a command in a container of a task of this host, and returns its exit code when it has ended and its output is written; or it connects
// the streams to a port of the container, until both directions have ended. When ctx ends first the command is killed. spec.ErrNotFound when no such container runs here, execution.ErrRefused when the task does not allow it.
func (n *Node) Exec(ctx context.Context, r execcommand.Request) (code int, err error) {
	running := n.runner(r.Task)
	if running == nil {
		return 0, fmt.Errorf("task %s does not run on this host: %w", r.Task, spec.ErrNotFound)
	}
	id, err := task.ExecTarget(running, r.Container, r.Admin)
	if err != nil {
		return 0, err
	}
	if r.Port != 0 {
		return 0, forward(ctx, n.config.Execer, id, r)
	}
	return n.config.Execer.Exec(ctx, id, runtime.ExecRequest{
		Cmd: r.Command, TTY: r.TTY, Size: r.Size, Sizes: r.Sizes, Stdio: runtime.Stdio{Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr},
	})
}

// forward connects the streams of a request to a port of the container.
func forward(ctx context.Context, execer runtime.Execer, id string, r execcommand.Request) error {
	conn, err := execer.Dial(ctx, id, r.Port)
	if err != nil {
		return fmt.Errorf("port %d of container %s: %w", r.Port, r.Container, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	go func() {
		_, _ = io.Copy(conn, r.Stdin) // what cannot be sent has no reader
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // likewise
		}
	}()
	_, err = io.Copy(r.Stdout, conn)
	return err
}
