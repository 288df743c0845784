package exec

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"

	"pinion/api/exec/datachannel"
	"pinion/api/exec/stream"
)

// writeTimeout is how long the other end may take to take a message.
const writeTimeout = 30 * time.Second

// maxMessage is the size of the largest message of both formats.
const maxMessage = max(datachannel.MaxMessage, stream.MaxMessage)

// Conn carries the messages of a session. It is safe for concurrent use, but one goroutine alone reads.
type Conn interface {
	// Read returns the next message. It fails when the other end is gone, or ctx ends, and then always.
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

// between is a Conn between two hosts: the bodies of one request, and each message after its length.
type between struct {
	in  *bufio.Reader
	out io.Writer
	end func() // has reading fail

	writing sync.Mutex // guards out; it may be held for long
	mu      sync.Mutex // guards what follows, and end
	shut    bool       // neither out nor end is to be used any more
}

const lengthBytes = 4

func newBetween(in io.Reader, out io.Writer, end func()) *between {
	return &between{in: bufio.NewReader(in), out: out, end: end}
}

var errTooLong = fmt.Errorf("a message is longer than %d bytes", maxMessage)

// Read returns the next message.
func (b *between) Read(ctx context.Context) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { b.Close("") })()
	var length [lengthBytes]byte
	if _, err := io.ReadFull(b.in, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxMessage {
		b.Close("")
		return nil, errTooLong
	}
	message := make([]byte, n)
	if _, err := io.ReadFull(b.in, message); err != nil {
		return nil, errors.Join(err, ctx.Err())
	}
	return message, nil
}

// Write sends a message.
func (b *between) Write(message []byte) error {
	b.writing.Lock()
	defer b.writing.Unlock()
	if b.isShut() {
		return io.ErrClosedPipe
	}
	framed := make([]byte, lengthBytes, lengthBytes+len(message))
	binary.BigEndian.PutUint32(framed, uint32(len(message)))
	_, err := b.out.Write(append(framed, message...))
	return err
}

// Close breaks the connection off: the messages themselves say why.
func (b *between) Close(string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.shut {
		b.end()
	}
}

func (b *between) isShut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.shut
}

// shutdown returns when the connection is not used any more: a response must not be, once its handler has returned. interrupt fails a write that is under way.
func (b *between) shutdown(interrupt func()) {
	b.mu.Lock()
	b.shut = true
	b.mu.Unlock()
	if !b.writing.TryLock() {
		interrupt()
		b.writing.Lock()
	}
	b.writing.Unlock()
}

// relay carries messages between two connections until one ends or ctx does, and ends both.
func relay(ctx context.Context, client, host Conn) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var fromHost sync.WaitGroup
	fromHost.Go(func() {
		defer cancel()
		carry(ctx, host, client)
		client.Close("")
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
