package server

import (
	"net"
	"time"
)

// lasting is a connection to another server that Raft keeps for its next request. When the other end has gone meanwhile,
// because it was started again, the request goes over a new connection: Raft does not repeat one that fails, and the
// vote that it asked for would be missed.
//
// Like every connection of Raft's it is used by one request at a time: all of it is written before the answer is read.
type lasting struct {
	net.Conn
	dial     func() (net.Conn, error)
	asking   bool // something was written since the last read
	deadline time.Time
}

// Write begins a request, or goes on with it.
func (l *lasting) Write(b []byte) (int, error) {
	if !l.asking {
		if err := l.renew(); err != nil {
			return 0, err
		}
	}
	l.asking = true
	return l.Conn.Write(b)
}

// Read takes in an answer.
func (l *lasting) Read(b []byte) (int, error) {
	l.asking = false
	return l.Conn.Read(b)
}

// SetDeadline is of the request that comes.
func (l *lasting) SetDeadline(t time.Time) error {
	l.deadline = t
	return l.Conn.SetDeadline(t)
}

// renew connects again when the other end has gone.
func (l *lasting) renew() error {
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
