package runtime

import (
	"context"
	"io"
	"net"

	"pinion/raftfsm/execcommand"
)

// Execer runs commands in running containers, for health checks and for people, and connects to their ports.
type Execer interface {
	// Exec runs a command beside the container's own process, as the container's own user, with its environment,
	// directory and limits, and returns its exit code: 127 for a command that the container does not have. It returns
	// when the command has ended and its output is written. When ctx ends first the command is killed. An error says
	// that it could not be run at all.
	Exec(ctx context.Context, id string, c ExecRequest) (code int, err error)
	// Dial connects to a TCP port of the container at its loopback address, whatever network it has. ErrNotFound when it does not run.
	Dial(ctx context.Context, id string, port int) (net.Conn, error)
}

// ExecRequest is one command to run in a container.
type ExecRequest struct {
	Cmd   []string // program and arguments
	Stdio Stdio
	TTY   bool                            // run it on a terminal; its output then comes on Stdout alone
	Size  execcommand.TerminalSize        // of the terminal at first; zero: not known
	Sizes <-chan execcommand.TerminalSize // of the terminal, as they change; nil: it stays as it is
}

// Stdio connects a command's streams. A nil stream is not connected: no input, output dropped.
type Stdio struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}
