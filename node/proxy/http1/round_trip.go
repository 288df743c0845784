package http1

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// roundTrip is one request over one connection, and its answer.
type roundTrip struct {
	*conn
	Options
	pool    *pool
	request *http.Request
	began   bool        // the server has sent something
	stop    func() bool // of what closes the connection when the request's context ends
	sent    chan error  // gets how the sending of the body ended; nil without a body
	// sendsLast reports whether only the last piece of the body is still to be sent.
	sendsLast atomic.Bool

	mu       sync.Mutex
	answered bool // the head of the answer has been read: there is no patience any more
}

// send returns the head of the answer. After an error the connection is closed.
func (e *roundTrip) send() (*http.Response, error) {
	e.stop = context.AfterFunc(e.request.Context(), e.conn.abort)
	err := e.start()
	var answer *http.Response
	if err == nil {
		answer, err = e.readHead()
	}
	if err != nil {
		e.stop()
		e.conn.Close()
		return nil, err
	}
	switch {
	case answer.StatusCode == http.StatusSwitchingProtocols:
		answer.Body = &upgraded{e}
	case answer.Body == http.NoBody:
		e.end(!answer.Close)
	default:
		answer.Body = &body{of: e, from: answer.Body, keep: !answer.Close}
	}
	return answer, nil
}

// start sends the request. Its body goes on being sent beside what follows: the server may answer before it has all of it.
func (e *roundTrip) start() error {
	e.wait()
	if err := writeHead(e.writer, e.request); err != nil {
		closeBody(e.request)
		return err
	}
	if !hasBody(e.request) {
		return e.writer.Flush()
	}
	e.sent = make(chan error, 1)
	go e.sendBody()
	return nil
}

// sendBody closes the connection when the body cannot be read. When it cannot be written, the server may have answered already.
func (e *roundTrip) sendBody() {
	defer closeBody(e.request)
	err := e.writeBody()
	if errors.As(err, new(*bodyError)) {
		e.conn.Close()
	}
	e.sent <- err
}

// wait gives the server its whole patience again.
func (e *roundTrip) wait() {
	if e.Patience == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.answered {
		_ = e.conn.SetReadDeadline(time.Now().Add(e.Patience))
	}
}

func (e *roundTrip) stopWaiting() {
	if e.Patience == 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answered = true
	_ = e.conn.SetReadDeadline(time.Time{})
}

// readHead passes on what comes before the answer, too.
func (e *roundTrip) readHead() (*http.Response, error) {
	e.left = maxHeadBytes + bufferBytes // what is read ahead counts
	if _, err := e.reader.Peek(1); err != nil {
		return nil, err
	}
	e.began = true
	for {
		answer, err := http.ReadResponse(e.reader, e.request)
		if err != nil {
			return nil, err
		}
		if answer.StatusCode/100 != 1 || answer.StatusCode == http.StatusSwitchingProtocols {
			e.left = -1
			e.stopWaiting()
			return answer, nil
		}
		if e.Informed != nil {
			e.Informed(answer.StatusCode, answer.Header)
		}
	}
}

// end gives the connection back, or closes it: when the answer was not whole, when the server has sent more than an answer, or when the body was
// not all sent.
func (e *roundTrip) end(keep bool) {
	if !e.stop() || !keep || e.request.Close || e.reader.Buffered() > 0 {
		e.conn.Close()
		return
	}
	if e.sent == nil || e.isSent() {
		e.pool.put(e.conn)
	} else {
		e.conn.Close()
	}
}

// sendTime bounds the last piece of a body whose answer has come: the server has read it, but the goroutine that sent it was not told yet.
const sendTime = 50 * time.Millisecond

func (e *roundTrip) isSent() bool {
	select {
	case err := <-e.sent:
		return err == nil
	default:
	}
	if !e.sendsLast.Load() {
		return false
	}
	timer := time.NewTimer(sendTime)
	defer timer.Stop()
	select {
	case err := <-e.sent:
		return err == nil
	case <-timer.C:
		return false
	}
}

// body is the body of an answer. At its end the connection is free for the next request.
type body struct {
	of    *roundTrip
	from  io.Reader
	keep  bool
	ended error
}

// Read returns the error of the request's context when that has ended.
func (b *body) Read(p []byte) (int, error) {
	if b.ended != nil {
		return 0, b.ended
	}
	n, err := b.from.Read(p)
	if err != nil {
		b.of.end(b.keep && err == io.EOF)
		if gone := b.of.request.Context().Err(); gone != nil && err != io.EOF {
			err = gone
		}
		b.ended = err
	}
	return n, err
}

// Ready reports whether Read surely returns without waiting: there is more than the line that a chunk begins with.
func (b *body) Ready() bool {
	read, _ := b.of.reader.Peek(b.of.reader.Buffered())
	line := bytes.IndexByte(read, '\n')
	return b.ended == nil && line >= 0 && line < len(read)-1
}

var errClosed = errors.New("read after Close")

// Close closes the connection unless the answer has been read.
func (b *body) Close() error {
	if b.ended == nil {
		b.ended = errClosed
		b.of.end(false)
	}
	return nil
}

// upgraded is a connection that is no HTTP any more.
type upgraded struct{ of *roundTrip }

func (u *upgraded) Read(p []byte) (int, error)  { return u.of.reader.Read(p) }
func (u *upgraded) Write(p []byte) (int, error) { return u.of.conn.Write(p) }

// CloseWrite tells the server that nothing more comes.
func (u *upgraded) CloseWrite() error {
	if half, ok := u.of.conn.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close ends the connection.
func (u *upgraded) Close() error {
	u.of.stop()
	return u.of.conn.Close()
}
