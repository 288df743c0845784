package exec

import (
	"cmp"
	"slices"
	"strings"

	"pinion/api/auth"
	"pinion/api/wire"
	"pinion/raftfsm"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/execcommand"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/taskrole"
)

// notEnabled are ECS's words, which clients look for.
const notEnabled = "The execute command failed because execute command was not enabled when the task was run or the execute command agent isn't running. " +
	"Wait and try again or run a new task with execute command enabled and try again."

// TargetNotConnected is ECS's error for a task whose host does not answer.
const TargetNotConnected = "TargetNotConnectedException"

// Caller is who wants to run a command, and what they may do.
type Caller struct {
	Principal string // ARN
	Rights    accesskey.Rights
}

// Target is the container of a task in which a command is to be run: the one of that name, or the only one. For the role admin enableExecuteCommand does
// not count unless strict is set. A caller who may do less than the role of the task is refused, as the command would have that. Errors are wire.Errors.
func Target(view *raftfsm.View, t *spec.Task, name string, by Caller, strict bool) (*spec.Container, error) {
	definition := view.Definition(t.Definition)
	if definition == nil {
		return nil, wire.Errorf(wire.InvalidParameter, "The task definition %s of the task is gone.", t.Definition)
	}
	effective := spec.Effective(definition, t.Overrides.Get())
	if strict && !t.Exec {
		return nil, wire.Errorf(wire.InvalidParameter, notEnabled)
	}
	if refusal := execcommand.Refusal(t, effective, by.Rights.Role == accesskey.RoleAdmin); refusal != "" {
		return nil, wire.Errorf(wire.AccessDenied, "No command may be run in task %s: %s. A key of the role admin may.", t.ID, refusal)
	}
	if err := auth.CheckPass(by.Principal, by.Rights, taskrole.OfTask(view, t.ID)); err != nil {
		return nil, err
	}
	if name == "" && len(t.Containers) != 1 {
		return nil, wire.Errorf(wire.InvalidParameter, "Name a container: the task has %s.", containerNames(t))
	}
	i := slices.IndexFunc(t.Containers, func(c spec.Container) bool { return name == "" || c.Name == name })
	if i < 0 {
		return nil, wire.Errorf(wire.InvalidParameter, "The task has no container %.255q; it has %s.", name, containerNames(t))
	}
	if found := &t.Containers[i]; t.LastStatus == spec.Running && cmp.Or(found.LastStatus, t.LastStatus) == spec.Running {
		return found, nil
	}
	if strict {
		return nil, wire.Errorf(wire.InvalidParameter, notEnabled)
	}
	return nil, wire.Errorf(wire.InvalidParameter, "Container %s of task %s does not run: the task is %s.", t.Containers[i].Name, t.ID, t.LastStatus)
}

func containerNames(t *spec.Task) string {
	var names []string
	for i := range t.Containers {
		names = append(names, t.Containers[i].Name)
	}
	return strings.Join(names, ", ")
}
