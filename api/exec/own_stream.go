package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"pinion/api/exec/stream"
	"pinion/raftfsm/execcommand"
)

// ownStream is the host's end of a session of Pinion's own clients. It has one connection, and ends with it.
type ownStream struct {
	input    *inputQueue
	sizes    chan execcommand.TerminalSize
	activity func()
	tty      bool
	ready    chan struct{} // closed when there is a connection

	once sync.Once
	conn Conn // set before ready is closed
	gate gate // of the output
}

func newOwnStream(tty bool, activity func()) *ownStream {
	return &ownStream{input: newInputQueue(), sizes: make(chan execcommand.TerminalSize, 1), activity: activity, tty: tty, ready: make(chan struct{})}
}

// Ready is closed when the command may start.
func (s *ownStream) Ready() <-chan struct{} { return s.ready }

// Connect fills in the streams of the command.
func (s *ownStream) Connect(r *execcommand.Request) {
	r.Stdin, r.Stdout, r.Sizes = s.input, output{s, stream.Stdout}, s.sizes
	if !s.tty {
		r.Stderr = output{s, stream.Stderr}
	}
}

// Resumable reports that the client may not connect again.
func (s *ownStream) Resumable() bool { return false }

// Serve takes the messages of the client until its connection ends.
func (s *ownStream) Serve(ctx context.Context, conn Conn) error {
	defer s.gate.open() // output fails then instead of waiting
	defer conn.Close("")
	s.once.Do(func() {
		s.conn = conn
		close(s.ready)
	})
	for {
		message, err := conn.Read(ctx)
		if err == nil {
			err = s.receive(message)
		}
		if err != nil {
			conn.Close(err.Error())
			return err
		}
	}
}

func (s *ownStream) receive(message []byte) error {
	if len(message) == 0 {
		return fmt.Errorf("a message of a session is empty")
	}
	switch kind, payload := stream.Kind(message[0]), message[1:]; kind {
	case stream.Stdin:
		s.activity()
		return s.takeInput(payload)
	case stream.StdinEnd:
		s.input.close()
	case stream.Resize:
		var size stream.TerminalSize
		if err := json.Unmarshal(payload, &size); err != nil {
			return fmt.Errorf("the size of a terminal: %w", err)
		}
		setSize(s.sizes, execcommand.TerminalSize{Columns: size.Columns, Rows: size.Rows})
	case stream.Pause:
		s.gate.shut()
	case stream.Resume:
		s.gate.open()
	case stream.KeepAlive:
	default:
		return fmt.Errorf("a client sends no message of kind %d", kind)
	}
	return nil
}

// presence is the time between two looks whether a client is there whose messages are not read.
const presence = time.Minute

// errInputHeldBack ends a session in which nothing can go on: the message that lets the output go on would wait behind the input.
var errInputHeldBack = errors.New("the client holds the output of the command back, and sends more input than the command reads")

// takeInput waits until the command has room for input. A client that is gone meanwhile is found by output without content.
func (s *ownStream) takeInput(input []byte) error {
	for {
		if s.gate.isShut() && !s.input.hasRoom() {
			return errInputHeldBack
		}
		if s.input.put(input, presence) {
			return nil
		}
		if err := s.conn.Write([]byte{byte(stream.Stdout)}); err != nil {
			return err
		}
	}
}

// goodbyeTimeout is how long a client that takes nothing is waited for at the end.
const goodbyeTimeout = 5 * time.Second

// closeAfter closes a connection after a time, unless it is stopped before.
func closeAfter(conn Conn, d time.Duration) (stop func() bool) {
	return time.AfterFunc(d, func() { conn.Close("the session is over") }).Stop
}

// Abort ends the input, and the connection if it takes no output.
func (s *ownStream) Abort() {
	s.input.close()
	select {
	case <-s.ready:
		closeAfter(s.conn, goodbyeTimeout)
	default:
	}
}

// Finish tells the client how the command has ended, and ends the connection.
func (s *ownStream) Finish(code int, cause error) {
	s.input.close()
	select {
	case <-s.ready:
	default:
		return
	}
	defer closeAfter(s.conn, goodbyeTimeout)()
	outcome := stream.Outcome{ExitCode: code}
	if cause != nil {
		outcome.Error = cause.Error()
	}
	_ = s.conn.Write(stream.JSON(stream.Exit, outcome)) // a client that is gone needs no word
	s.conn.Close("the session is over")
}

// output sends output of the command.
type output struct {
	to   *ownStream
	kind stream.Kind
}

// Write sends one or more messages.
func (o output) Write(text []byte) (int, error) {
	o.to.activity()
	for sent := 0; sent < len(text); {
		chunk := text[sent:min(len(text), sent+stream.MaxMessage-1)]
		if !o.to.gate.wait() {
			return sent, io.ErrClosedPipe
		}
		if err := o.to.conn.Write(append([]byte{byte(o.kind)}, chunk...)); err != nil {
			return sent, io.ErrClosedPipe
		}
		sent += len(chunk)
	}
	return len(text), nil
}

// gate holds output back while the client has paused it. The zero value is open, and it is safe for concurrent use.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed when the gate opens; nil while it is open
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		close(g.opened)
		g.opened = nil
	}
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened != nil
}

// wait waits until the gate is open; false: it stayed shut for writeTimeout.
func (g *gate) wait() bool {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened == nil {
		return true
	}
	late := time.NewTimer(writeTimeout)
	defer late.Stop()
	select {
	case <-opened:
		return true
	case <-late.C:
		return false
	}
}
