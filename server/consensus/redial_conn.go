package consensus

import (
	"net"
	"time"
)

// redialConn is a pooled Raft connection to another server. When the other end has restarted since the last request, the next
// request uses a new connection, because Raft does not repeat a failed request and would miss a vote.
//
// Like every connection of Raft's it is used by one request at a time: all of it is written before the answer is read.
type redialConn struct {
	net.Conn
	dial        func() (net.Conn, error)
	requestOpen bool // something was written since the last read
	deadline    time.Time
}

// newRedialConn keeps a connection that dial has made.
func newRedialConn(c net.Conn, dial func() (net.Conn, error)) net.Conn {
	return &redialConn{Conn: c, dial: dial}
}

// Write begins a request, or goes on with it.
func (l *redialConn) Write(b []byte) (int, error) {
	if !l.requestOpen {
		if err := l.redialIfClosed(); err != nil {
			return 0, err
		}
	}
	l.requestOpen = true
	return l.Conn.Write(b)
}

// Read takes in an answer.
func (l *redialConn) Read(b []byte) (int, error) {
	l.requestOpen = false
	return l.Conn.Read(b)
}

// SetDeadline is of the request that comes.
func (l *redialConn) SetDeadline(t time.Time) error {
	l.deadline = t
	return l.Conn.SetDeadline(t)
}

// redialIfClosed connects again when the other end has gone.
func (l *redialConn) redialIfClosed() error {
	if known, ok := l.Conn.(interface{ Gone() bool }); !ok || !known.Gone() {
		return nil
	}
	c, err := l.dial()
	if err != nil {
		return err
	}
	l.Conn.Close()
	l.Conn = c
	return c.SetDeadline(l.deadline)
}
