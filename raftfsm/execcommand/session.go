// Package execution is about commands that are run in containers of running tasks: what is asked for, and who may ask.
package execcommand

import (
	"errors"
	"io"

	"pinion/raftfsm/isolation"
	"pinion/raftfsm/spec"
)

// ErrRefused is the error of a command that may not be run in a container; see Refusal.
var ErrRefused = errors.New("refused")

// TerminalSize is the size of a terminal in characters.
type TerminalSize struct{ Columns, Rows uint16 }

// Request is a command to run in a container of a running task.
type Request struct {
	Task      string // its id
	Container string // its name in the definition
	Command   []string
	Port      int  // in place of a command: a TCP port of the container that Stdin and Stdout are connected to
	Admin     bool // the caller's role is admin: see Refusal

	TTY    bool                // run it on a terminal; its output then comes on Stdout alone
	Size   TerminalSize        // of the terminal at first; zero: not known
	Sizes  <-chan TerminalSize // of the terminal, as they change; nil: it stays as it is
	Stdin  io.Reader           // nil: no input
	Stdout io.Writer
	Stderr io.Writer
}

// Refusal returns the reason why no command may be run in a container of a task, empty when one may: the task was run without enableExecuteCommand, or it has what
// only a key of the role admin can ask for, and whoever runs a command in it has that too. definition is the task's own, with its overrides
// merged. Neither is a reason against a key of the role admin. The API asks it, and the host of the task again.
func Refusal(t *spec.Task, definition *spec.TaskDefinition, admin bool) string {
	switch {
	case admin:
		return ""
	case !t.Exec:
		return "the task was run without enableExecuteCommand, which `pinion run` sets unless --no-exec"
	case isolation.RequirementsOf(definition).NeedsAdmin():
		return "its containers have what only an administrator can ask for"
	}
	return ""
}
