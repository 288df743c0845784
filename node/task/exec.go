package task

import (
	"fmt"

	"pinion/raftfsm/spec"
)

// ExecTarget is the id of the container of that name, in which a command is to be run. spec.ErrNotFound when it does not run; spec.ErrExecRefused when
// the task does not allow it, see spec.Task.ExecRefusal.
func (r *Runner) ExecTarget(container string, admin bool) (id string, err error) {
	if refusal := r.task.ExecRefusal(r.def, admin); refusal != "" {
		return "", fmt.Errorf("no command may be run in task %s: %s: %w", r.task.ID, refusal, spec.ErrExecRefused)
	}
	for _, c := range r.containers {
		if c.Def.Name == container && c.started.happened() && !c.exited.happened() {
			return c.ID, nil
		}
	}
	return "", fmt.Errorf("container %s of task %s does not run: %w", container, r.task.ID, spec.ErrNotFound)
}
