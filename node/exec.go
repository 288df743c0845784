package node

import (
	"context"
	"fmt"

	"pinion/node/runtime"
	"pinion/node/task"
	"pinion/raftfsm/execution"
	"pinion/raftfsm/spec"
)

// Exec runs a command in a container of a task of this host, and returns its exit code when it has ended and its output is written. When ctx ends
// first the command is killed. spec.ErrNotFound when no such container runs here, execution.ErrRefused when the task does not allow it.
func (n *Node) Exec(ctx context.Context, r execution.Request) (code int, err error) {
	running := n.runner(r.Task)
	if running == nil {
		return 0, fmt.Errorf("task %s does not run on this host: %w", r.Task, spec.ErrNotFound)
	}
	id, err := task.ExecTarget(running, r.Container, r.Admin)
	if err != nil {
		return 0, err
	}
	return n.config.Execer.Exec(ctx, id, runtime.ExecRequest{
		Cmd: r.Command, TTY: r.TTY, Size: r.Size, Sizes: r.Sizes, Stdio: runtime.Stdio{Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr},
	})
}
