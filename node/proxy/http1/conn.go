package http1

import (
	"bufio"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	maxHeadBytes = 64 << 10 // of an answer, with the 1xx before it
	bufferBytes  = 4 << 10
)

var errLongHead = errors.New("the head of the answer is longer than 64 KiB")

// conn is one connection to a server. One request uses it at a time.
type conn struct {
	net.Conn
	address string
	reader  *bufio.Reader // of limited
	writer  *bufio.Writer
	left    int       // bytes that may still be read, unless negative
	kept    bool      // it has served a request
	since   time.Time // when it was kept
	raw     syscall.RawConn
	peek    func(fd uintptr) bool // sets silent
	silent  bool
}

func newConn(dialed net.Conn, address string) *conn {
	c := &conn{Conn: dialed, address: address, left: -1, writer: bufio.NewWriterSize(dialed, bufferBytes)}
	c.reader = bufio.NewReaderSize((*limited)(c), bufferBytes)
	c.peek = func(fd uintptr) bool {
		var one [1]byte
		_, _, err := unix.Recvfrom(int(fd), one[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		c.silent = errors.Is(err, unix.EAGAIN)
		return true
	}
	if socket, ok := dialed.(syscall.Conn); ok {
		c.raw, _ = socket.SyscallConn()
	}
	return c
}

// abort closes the connection of a request that was broken off. In order it would keep its port for a minute, and clients that break off many could leave
// the host none to connect from.
func (c *conn) abort() {
	if socket, ok := c.Conn.(*net.TCPConn); ok {
		_ = socket.SetLinger(0)
	}
	c.Close()
}

// limited reads from the connection within its limit.
type limited conn

// Read fails at the limit.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return l.Conn.Read(p)
	}
	if l.left == 0 {
		return 0, errLongHead
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// isSilent reports whether the server has neither closed the connection nor sent unasked bytes.
func (c *conn) isSilent() bool {
	if c.raw == nil || c.reader.Buffered() > 0 {
		return false
	}
	c.silent = false
	return c.raw.Read(c.peek) == nil && c.silent
}
