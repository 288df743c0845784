package task

import (
	"fmt"

	"pinion/raftfsm/execcommand"
	"pinion/raftfsm/spec"
)

// ExecTarget is the id of a runner's container of that name, in which a command is to be run. spec.ErrNotFound when it does not run; execution.ErrRefused when
// the task does not allow it, see execution.Refusal.
func ExecTarget(r *Runner, container string, admin bool) (id string, err error) {
	if refusal := execcommand.Refusal(r.task, r.def, admin); refusal != "" {
		return "", fmt.Errorf("no command may be run in task %s: %s: %w", r.task.ID, refusal, execcommand.ErrRefused)
	}
	if c := r.containers.named(container); c != nil && c.started.happened() && !c.exited.happened() {
		return c.ID, nil
	}
	return "", fmt.Errorf("container %s of task %s does not run: %w", container, r.task.ID, spec.ErrNotFound)
}
