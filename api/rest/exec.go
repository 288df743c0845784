package rest

import (
	"math"
	"net/http"
	"reflect"

	"pinion/api/exec"
	"pinion/api/exec/stream"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/accesskey"
)

// execInput is a command to run in a container of a task.
type execInput struct {
	Container string   `json:"container"` // its name; it may be left out when the task has one
	Command   []string `json:"command"`   // or a port
	Port      int      `json:"port"`      // a TCP port of the container, which input and output are connected to
	TTY       bool     `json:"tty"`       // run it on a terminal

	Size terminalSize `json:"size"` // of the terminal at first; it may be left out
}

// terminalSize is the size of a terminal in characters.
type terminalSize struct {
	Columns int `json:"columns"`
	Rows    int `json:"rows"`
}

func (s terminalSize) check() error {
	if s.Columns < 0 || s.Columns > math.MaxUint16 || s.Rows < 0 || s.Rows > math.MaxUint16 {
		return wire.Errorf(wire.InvalidParameter, "size must be 0 to %d columns and rows, not %d and %d.", math.MaxUint16, s.Columns, s.Rows)
	}
	return nil
}

// execView is the session for it.
type execView struct {
	SessionID  string `json:"sessionId"`
	TokenValue string `json:"tokenValue"` // the client's first message is {"TokenValue": it}, once and within a minute
	Container  string `json:"container"`
}

// execSessions opens sessions for commands in containers.
type execSessions struct {
	sessions *exec.Service
	ended    Ended
}

func (e execSessions) routes() []Route {
	return []Route{
		{Method: http.MethodPost, Path: "/v1/tasks/{id}/exec", Role: accesskey.RoleSubmit, Scope: perResource, Summary: "opens a session for a command in a container of a task; its client connects to /v1/data-channel/ and the session's id, with a WebSocket",
			In: reflect.TypeFor[execInput](), Out: reflect.TypeFor[execView](), Serve: e.open},
	}
}

func (e execSessions) open(x *httpx.Exchange, res leader.Resolution) error {
	var in execInput
	if err := decode(x, &in); err != nil {
		return err
	}
	if err := in.Size.check(); err != nil {
		return err
	}
	task, err := findTask(x, res, e.ended)
	if err != nil {
		return err
	}
	container, err := exec.Target(res.View, task, in.Container, exec.Caller{Principal: res.Principal.ARN, Rights: res.Principal.Rights()}, false)
	if err != nil {
		return err
	}
	host := res.View.Host(task.HostID)
	if host == nil {
		return wire.Errorf(httpx.NotFound, "The host of task %s was removed from the pool.", task.ID)
	}
	r := exec.Request{Task: task.ID, Container: container.Name, Command: in.Command, Port: in.Port, TTY: in.TTY, Size: stream.TerminalSize{Columns: uint16(in.Size.Columns), Rows: uint16(in.Size.Rows)}}
	r.By(res.Principal, x.ClientAddress())
	session, err := e.sessions.Open(x.Context(), host, r, wire.Server)
	if err != nil {
		return err
	}
	return reply(x, execView{SessionID: session.ID, TokenValue: session.Token, Container: container.Name})
}
