package exec

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"pinion/raftfsm/execcommand"
)

// clientStream is the host's end of one client protocol: a data channel or Pinion's own stream.
type clientStream interface {
	// Connect fills in the streams of the command.
	Connect(r *execcommand.Request)
	// Ready is closed when the command may start.
	Ready() <-chan struct{}
	// Serve carries messages over a connection until it ends, and then reports why.
	Serve(ctx context.Context, conn Conn) error
	// Resumable reports that the client may connect again.
	Resumable() bool
	// Abort has the streams of the command fail: it is being ended, and waits for no client any more.
	Abort()
	// Finish tells the client how the command has ended, and that the session is over. A cause is why its exit code means nothing.
	Finish(code int, cause error)
}

// session is one command in a container, and the client that it belongs to.
type session struct {
	id      string
	request Request
	opened  time.Time
	client  clientStream
	ctx     context.Context // of the command; its cause is why it was ended
	end     context.CancelCauseFunc
	over    context.Context // ends when the client has been told how the command ended
	finish  context.CancelFunc

	used      atomic.Int64 // when there was input or output last, in nanoseconds since opened
	bytesIn   atomic.Int64
	bytesOut  atomic.Int64
	connected atomic.Int32 // connections now
	lastLeft  atomic.Int64 // when the last connection ended, as used

	mu                sync.Mutex // guards what follows
	sessionTokenHash  [sha256.Size]byte
	sessionTokenUntil time.Time // zero: it was used
}

// Causes of the end of a session.
var (
	errNoClient  = errors.New("its client was away for too long")
	errKilled    = errors.New("it was terminated")
	errHostStops = errors.New("the Pinion of the task's host is stopping, for an upgrade maybe: the task runs on; run the command again in a moment")
)

func newSession(ctx context.Context, id string, r Request) *session {
	s := &session{id: id, request: r, opened: time.Now()}
	s.ctx, s.end = context.WithCancelCause(ctx)
	s.over, s.finish = context.WithCancel(context.Background())
	if r.DataChannel {
		s.client = newDataChannel(id, s.touch, s.end)
	} else {
		s.client = newOwnStream(r.TTY, s.touch)
	}
	return s
}

// touch notes that the session is used.
func (s *session) touch() { s.used.Store(int64(time.Since(s.opened))) }

// sessionTokenSeparator stands between the access key of a session and what nobody can guess.
const sessionTokenSeparator = "."

// newSessionToken makes the token of the next connection. It names the access key, which the server that carries the session watches.
func (s *session) newSessionToken() string {
	token := s.request.KeyID + sessionTokenSeparator + randomHex(sessionTokenBytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessionTokenHash, s.sessionTokenUntil = sha256.Sum256([]byte(token)), time.Now().Add(openTimeout)
	return token
}

// useSessionToken reports whether a token is that of the next connection, for the first time.
func (s *session) useSessionToken(token string) bool {
	given := sha256.Sum256([]byte(token))
	s.mu.Lock()
	defer s.mu.Unlock()
	if !time.Now().Before(s.sessionTokenUntil) || subtle.ConstantTimeCompare(given[:], s.sessionTokenHash[:]) != 1 {
		return false
	}
	s.sessionTokenUntil = time.Time{}
	return true
}

// run runs the command as soon as the client is there, and returns how it ended. The client has been told.
func (s *session) run(host Host) (code int, cause error) {
	defer s.finish()
	defer s.end(nil)
	defer context.AfterFunc(s.ctx, s.client.Abort)()
	go s.watch()
	select {
	case <-s.client.Ready():
	case <-s.ctx.Done():
		s.client.Finish(0, context.Cause(s.ctx))
		return 0, context.Cause(s.ctx)
	}
	r := execcommand.Request{Task: s.request.Task, Container: s.request.Container, Command: s.request.Command, Port: s.request.Port, Admin: s.request.Admin, TTY: s.request.TTY}
	r.Size = execcommand.TerminalSize(s.request.Size)
	s.client.Connect(&r)
	if s.request.DataChannel {
		s.awaitSize(&r)
	}
	r.Stdin, r.Stdout = countingReader{r.Stdin, &s.bytesIn}, countingWriter{r.Stdout, &s.bytesOut}
	if r.Stderr != nil {
		r.Stderr = countingWriter{r.Stderr, &s.bytesOut}
	}
	code, cause = host.Exec(s.ctx, r)
	if s.ctx.Err() != nil {
		cause = context.Cause(s.ctx)
	}
	s.client.Finish(code, cause)
	return code, cause
}

// awaitSize waits for the first size of the client's terminal, for a while.
func (s *session) awaitSize(r *execcommand.Request) {
	late := time.NewTimer(sizeTimeout)
	defer late.Stop()
	select {
	case r.Size = <-r.Sizes:
	case <-late.C:
	case <-s.ctx.Done():
	}
}

// serve carries messages over a connection until it or the session ends.
func (s *session) serve(ctx context.Context, conn Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()
	s.connected.Add(1)
	s.touch()
	defer func() {
		s.lastLeft.Store(int64(time.Since(s.opened)))
		if s.connected.Add(-1) == 0 && !s.client.Resumable() {
			s.end(errNoClient)
		}
	}()
	return s.client.Serve(ctx, conn)
}

// watchInterval is how often a session is looked at.
const watchInterval = time.Second

// watch ends a session that nobody uses.
func (s *session) watch() {
	tick := time.NewTicker(watchInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
			if cause := s.unused(time.Since(s.opened)); cause != nil {
				s.end(cause)
				return
			}
		}
	}
}

// unused is why a session is to end that is so old, nil when it is not.
func (s *session) unused(age time.Duration) error {
	ready := false
	select {
	case <-s.client.Ready():
		ready = true
	default:
	}
	switch {
	case !ready && s.connected.Load() > 0 && age-time.Duration(s.used.Load()) > handshakeTimeout:
		return errors.New("its client did not say what it can do in time")
	case s.connected.Load() == 0 && age-time.Duration(s.lastLeft.Load()) > max(resumeTimeout, openTimeout):
		return errNoClient
	case s.request.TTY && age-time.Duration(s.used.Load()) > IdleTimeout: // a person may have gone; a program that says nothing works
		return fmt.Errorf("there was no input or output for %v", IdleTimeout)
	}
	return nil
}

// countingReader and countingWriter count the bytes of a session.
type countingReader struct {
	io.Reader
	count *atomic.Int64
}

// Read reads and counts.
func (r countingReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.count.Add(int64(n))
	return n, err
}

type countingWriter struct {
	io.Writer
	count *atomic.Int64
}

// Write writes and counts.
func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.count.Add(int64(n))
	return n, err
}
