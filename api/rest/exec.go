package rest

import (
	"pinion/api/exec"
	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/api/wire"
	"pinion/raftfsm/spec"
)

// execInput is a command to run in a container of a task.
type execInput struct {
	Container string   `json:"container"` // its name; it may be left out when the task has one
	Command   []string `json:"command"`
	TTY       bool     `json:"tty"` // run it on a terminal
}

// execView is the session for it.
type execView struct {
	SessionID  string `json:"sessionId"`
	TokenValue string `json:"tokenValue"` // the client's first message is {"TokenValue": it}, once and within a minute
	Container  string `json:"container"`
}

// openExec opens a session for a command in a container of a task.
func (a *API) openExec(x *httpx.Exchange, res leader.Resolution) error {
	var in execInput
	if err := decode(x, &in); err != nil {
		return err
	}
	task, err := findTask(x, res, a.Ended)
	if err != nil {
		return err
	}
	container, err := exec.Target(res.View, task, in.Container, res.Principal.Role == spec.RoleAdmin, false)
	if err != nil {
		return err
	}
	host := res.View.Host(task.HostID)
	if host == nil {
		return wire.Errorf(httpx.NotFound, "The host of task %s was removed from the pool.", task.ID)
	}
	r := exec.Request{Task: task.ID, Container: container.Name, Command: in.Command, TTY: in.TTY}
	r.By(res.Principal, x.ClientAddress())
	session, err := a.Exec.Open(x.Context(), host, r, wire.Server)
	if err != nil {
		return err
	}
	return reply(x, execView{SessionID: session.ID, TokenValue: session.Token, Container: container.Name})
}
