package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"pinion/api/exec/stream"
)

// ErrExecInterrupted is wrapped by the error of an exec session that was cut off. What became of its command is not known.
var ErrExecInterrupted = errors.New("exec session interrupted")

// TerminalSize is the size of a terminal in characters.
type TerminalSize = stream.TerminalSize

// ExecRequest is a command to run in a container of a running task.
type ExecRequest struct {
	Container string   `json:"container,omitempty"` // its name; it may be left out when the task has one
	Command   []string `json:"command,omitempty"`   // program and arguments
	Port      int      `json:"port,omitempty"`      // in place of a command: a TCP port of the container, which Stdin and Stdout are connected to
	TTY       bool     `json:"tty,omitempty"`       // run it on a terminal; its output then comes on Stdout alone

	Size TerminalSize `json:"size,omitzero"` // of the terminal at first; zero: not known

	Stdin          io.Reader           `json:"-"` // nil: no input. A read that waits is left alone when the command has ended
	Stdout, Stderr io.Writer           `json:"-"` // nil: dropped
	Sizes          <-chan TerminalSize `json:"-"` // of the terminal, as they change; nil: it stays as it is
}

// Exec runs a command in a container of a task, and returns its exit code when it has ended and its output is written: 127 for a command that does not
// start. When ctx ends first the command is killed.
func (c *Client) Exec(ctx context.Context, task string, r ExecRequest) (exitCode int, err error) {
	connection, err := openExec(ctx, c, task, r)
	if err != nil {
		return 0, err
	}
	defer connection.CloseNow()
	connection.SetReadLimit(stream.MaxMessage + 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session := execSession{connection}
	go session.sendInput(ctx, r.Stdin)
	go session.sendSizes(ctx, r.Sizes)
	go session.keepAlive(ctx)
	return session.receive(ctx, r)
}

// openExec opens a session, and connects to it.
func openExec(ctx context.Context, c *Client, task string, r ExecRequest) (*websocket.Conn, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	path := "/v1/tasks/" + url.PathEscape(task) + "/exec"
	response, err := c.transport.do(ctx, http.MethodPost, path, http.Header{"Content-Type": {"application/json"}}, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var opened struct {
		SessionID  string `json:"sessionId"`
		TokenValue string `json:"tokenValue"`
	}
	if err := json.NewDecoder(response.Body).Decode(&opened); err != nil {
		return nil, fmt.Errorf("%s: the host's answer cannot be read: %w", path, err)
	}
	// The answer is of a WebSocket's own; its connection is the client's.
	connection, _, err := websocket.Dial(ctx, c.transport.base+"/v1/data-channel/"+opened.SessionID, &websocket.DialOptions{HTTPClient: c.transport.http})
	if err != nil {
		return nil, c.transport.connectionError(err)
	}
	first, err := json.Marshal(map[string]string{"TokenValue": opened.TokenValue})
	if err == nil {
		err = connection.Write(ctx, websocket.MessageText, first)
	}
	if err != nil {
		connection.CloseNow()
		return nil, fmt.Errorf("%w: %w", ErrExecInterrupted, err)
	}
	return connection, nil
}

// execSession is the client's end of a session.
type execSession struct{ *websocket.Conn }

func (s execSession) send(ctx context.Context, message []byte) error {
	return s.Write(ctx, websocket.MessageBinary, message)
}

// sendInput sends the input until it or the session ends.
func (s execSession) sendInput(ctx context.Context, input io.Reader) {
	if input == nil {
		_ = s.send(ctx, []byte{byte(stream.StdinEnd)}) // when it fails, so does receive, which says why
		return
	}
	message := make([]byte, stream.MaxMessage)
	message[0] = byte(stream.Stdin)
	for {
		n, err := input.Read(message[1:])
		if n > 0 && s.send(ctx, message[:n+1]) != nil {
			return
		}
		if err != nil {
			_ = s.send(ctx, []byte{byte(stream.StdinEnd)}) // likewise
			return
		}
	}
}

// keepAliveInterval is how often a silent client is heard of, by proxies that end what they hear nothing of.
const keepAliveInterval = 30 * time.Second

func (s execSession) keepAlive(ctx context.Context) {
	tick := time.NewTicker(keepAliveInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if s.send(ctx, []byte{byte(stream.KeepAlive)}) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

func (s execSession) sendSizes(ctx context.Context, sizes <-chan TerminalSize) {
	for {
		select {
		case size, more := <-sizes:
			if !more || s.send(ctx, stream.JSON(stream.Resize, size)) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// receive writes the output until the session is over.
func (s execSession) receive(ctx context.Context, r ExecRequest) (int, error) {
	for {
		_, message, err := s.Read(ctx)
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		if refused, ok := errors.AsType[websocket.CloseError](err); ok && refused.Reason != "" {
			return 0, fmt.Errorf("%w: %s", ErrExecInterrupted, refused.Reason)
		}
		if err != nil {
			return 0, fmt.Errorf("%w: the connection to the host was cut: %w", ErrExecInterrupted, err)
		}
		if len(message) == 0 {
			continue
		}
		switch kind, payload := stream.Kind(message[0]), message[1:]; kind {
		case stream.Stdout:
			err = write(r.Stdout, payload)
		case stream.Stderr:
			err = write(r.Stderr, payload)
		case stream.Exit:
			return exitOf(payload)
		}
		if err != nil {
			return 0, err
		}
	}
}

func exitOf(payload []byte) (int, error) {
	var outcome stream.Outcome
	if err := json.Unmarshal(payload, &outcome); err != nil {
		return 0, fmt.Errorf("%w: how it ended cannot be read: %w", ErrExecInterrupted, err)
	}
	if outcome.Error != "" {
		return 0, fmt.Errorf("the command did not end by itself: %s", outcome.Error)
	}
	return outcome.ExitCode, nil
}

func write(to io.Writer, output []byte) error {
	if to == nil {
		return nil
	}
	_, err := to.Write(output)
	return err
}
