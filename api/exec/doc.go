// Package exec runs commands in the containers of running tasks for clients. The leader opens a session on the host of the task and gives the
// client its token; the client connects to any host with it, which carries the messages to the host of the task. There the session lives:
// it may lose its connection and get another. The messages are those of AWS Systems Manager for session-manager-plugin (package
// datachannel), and Pinion's own for everything else (package stream).
package exec

import (
	"cmp"
	"context"
	"time"

	"pinion/api/auth"
	"pinion/api/exec/stream"
	"pinion/raftfsm/accesskey"
	"pinion/raftfsm/execcommand"
)

// Host is the agent of this host.
type Host interface {
	// Exec runs a command in a container of a task of this host, and returns its exit code when it has ended and its output is written. When
	// ctx ends first the command is killed. spec.ErrNotFound when no such container runs here, execution.ErrRefused when the task does not
	// allow it.
	Exec(ctx context.Context, r execcommand.Request) (code int, err error)
}

// Limits of sessions.
const (
	// IdleTimeout ends a session on a terminal without input and output, as on ECS.
	IdleTimeout = 20 * time.Minute
	// resumeTimeout is how long a session of a data channel waits for another connection when it has lost its own.
	resumeTimeout = time.Minute
	// openTimeout is how long a client may take to connect.
	openTimeout = time.Minute
	// handshakeTimeout is how long the client of a data channel may take to say what it can do.
	handshakeTimeout = 15 * time.Second
	// sizeTimeout is how long a command waits for the size of the terminal of such a client: it looks at it once, maybe.
	sizeTimeout = 2 * time.Second
	// finishTimeout is how long a client may take to acknowledge some more of the last output.
	finishTimeout = 15 * time.Second

	maxSessions       = 512  // of a host; see Sessions.checkRoom
	maxArguments      = 1024 // of a command
	maxCommandLength  = 32 << 10
	maxOpening        = 8 << 10 // bytes of a client's first message
	sessionPrefix     = "ecs-execute-command-"
	hostIDLength      = 32 // hex digits
	nonceBytes        = 16
	sessionTokenBytes = 32
)

// Request opens a session for a command.
type Request struct {
	Task      string   `json:"task"`
	Container string   `json:"container"`
	Command   []string `json:"command,omitempty"`
	Port      int      `json:"port,omitempty"` // in place of a command: a TCP port of the container
	TTY       bool     `json:"tty,omitempty"`

	// Size of the terminal at first; zero: not known. The client of a data channel tells it when it has connected.
	Size stream.TerminalSize `json:"size,omitzero"`

	// DataChannel: the client is session-manager-plugin. It has a terminal, and input.
	DataChannel bool `json:"dataChannel,omitempty"`

	// Who asks, as the leader has found it.
	Principal string `json:"principal"`
	Owner     string `json:"holder"`          // of the access key, which the tasks of a role share: whom the sessions count for
	KeyID     string `json:"keyId,omitempty"` // of the access key, with which the session ends; empty: root's, through the socket
	KeyName   string `json:"keyName,omitempty"`
	Address   string `json:"address,omitempty"` // of the client
	Admin     bool   `json:"admin,omitempty"`   // the role is admin
}

// By fills in who asks: a principal at an address.
func (r *Request) By(p auth.Principal, address string) {
	r.Principal, r.Owner, r.KeyID, r.KeyName, r.Address, r.Admin = p.ARN, cmp.Or(p.Owner, p.ARN), p.KeyID, p.KeyName, address, p.Role == accesskey.RoleAdmin
}

// Session is one that was opened.
type Session struct {
	ID    string `json:"sessionId"`
	Token string `json:"tokenValue"` // proves once, within a minute, that the session is the client's
}
