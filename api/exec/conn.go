package exec

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/coder/websocket"

	"pinion/api/exec/datachannel"
	"pinion/api/exec/stream"
)

// writeTimeout is how long a client may take to take a message: a person may stop the output of a command. The session has no use by then.
const writeTimeout = IdleTimeout

// maxMessage is the size of the largest message of both formats.
const maxMessage = max(datachannel.MaxMessage, stream.MaxMessage)

// Conn carries the messages of a session. It is safe for concurrent use, but one goroutine alone reads.
type Conn interface {
	// Read returns the next message. It fails when the other end is gone, and once ctx has ended or Close was called.
	Read(ctx context.Context) ([]byte, error)
	// Write sends a message.
	Write(message []byte) error
	// Close ends the connection. The other end is told why, where it can be.
	Close(reason string)
}

// webSocket is a Conn to a client.
type webSocket struct{ *websocket.Conn }

// Read returns the next message, which the client sends as text or as bytes.
func (s webSocket) Read(ctx context.Context) ([]byte, error) {
	_, message, err := s.Conn.Read(ctx)
	return message, err
}

// Write sends a message as bytes.
func (s webSocket) Write(message []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return s.Conn.Write(ctx, websocket.MessageBinary, message)
}

// maxReason is the length of a reason that a WebSocket can tell.
const maxReason = 123

// Close ends the connection with a close frame.
func (s webSocket) Close(reason string) {
	_ = s.Conn.Close(websocket.StatusNormalClosure, reason[:min(len(reason), maxReason)]) // it may be closed
}

// peerConn is a Conn over the two bodies of one HTTP/2 request between hosts, each message after its length.
type peerConn struct {
	in  *bufio.Reader
	out io.Writer
	end func() // has reading and writing fail

	writing sync.Mutex // guards out; it may be held for long
	mu      sync.Mutex // guards what follows, and end
	closed  bool
	retired bool // neither out nor end is to be used any more
}

const lengthBytes = 4

func newPeerConn(in io.Reader, out io.Writer, end func()) *peerConn {
	return &peerConn{in: bufio.NewReader(in), out: out, end: end}
}

var errTooLong = fmt.Errorf("a message is longer than %d bytes", maxMessage)

// Read returns the next message.
func (c *peerConn) Read(ctx context.Context) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { c.Close("") })()
	if c.isClosed() || ctx.Err() != nil {
		return nil, io.ErrClosedPipe // what is buffered is nobody's any more
	}
	var length [lengthBytes]byte
	if _, err := io.ReadFull(c.in, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxMessage {
		c.Close("")
		return nil, errTooLong
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(c.in, message); err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return message, nil
}

// Write sends a message. It waits for the other end as long as the session lasts.
func (c *peerConn) Write(message []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.isClosed() {
		return io.ErrClosedPipe
	}
	_, err := c.out.Write(frame(message))
	return err
}

// frame is a message after its length.
func frame(message []byte) []byte {
	framed := make([]byte, lengthBytes, lengthBytes+len(message))
	binary.BigEndian.PutUint32(framed, uint32(len(message)))
	return append(framed, message...)
}

// Close breaks the connection off: the messages themselves say why.
func (c *peerConn) Close(string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed = true; !c.retired {
		c.end()
	}
}

func (c *peerConn) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed || c.retired
}

// retire returns when the connection is not used any more: a response must not be, once its handler has returned. interrupt fails a write that is under way.
func (c *peerConn) retire(interrupt func()) {
	c.mu.Lock()
	c.retired = true
	c.mu.Unlock()
	if !c.writing.TryLock() {
		interrupt()
		c.writing.Lock()
	}
	c.writing.Unlock()
}

// relay carries messages between two connections until one ends or ctx does, and ends both.
func relay(ctx context.Context, client, host Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var fromHost sync.WaitGroup
	fromHost.Go(func() {
		defer cancel()
		carry(ctx, host, client)
		client.Close(hostGone) // which a client does not wait for that has the last message
	})
	carry(ctx, client, host)
	host.Close("")
	cancel()
	fromHost.Wait()
	client.Close("")
}

func carry(ctx context.Context, from, to Conn) {
	for {
		message, err := from.Read(ctx)
		if err != nil || to.Write(message) != nil {
			return
		}
	}
}
