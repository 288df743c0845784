package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"pinion/raftfsm/spec"
	"pinion/server/consensus"
	"sync"
	"time"

	"github.com/hashicorp/raft"
)

// incarnationLayer is a Raft stream layer whose handshake exchanges the pool's incarnation. Servers of different incarnations
// do not communicate: the older one learns of the newer one here, and ends. So a recovered pool and servers of the old one
// never mix.
type incarnationLayer struct {
	raft.StreamLayer
	member *Member
}

// incarnationTimeout is how long the other end may take to say its incarnation.
const incarnationTimeout = 3 * time.Second

// Dial connects and does the incarnation handshake at once. It returns a connection that redials: see consensus.NewRedialConn.
func (l *incarnationLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := l.dial(address, timeout)
	if err != nil {
		return nil, err
	}
	return consensus.NewRedialConn(c, func() (net.Conn, error) { return l.dial(address, timeout) }), nil
}

func (l *incarnationLayer) dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := l.StreamLayer.Dial(address, timeout)
	if err != nil {
		return nil, err
	}
	if err := l.exchange(c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Accept defers the handshake to the first read, so that a slow caller does not block others.
func (l *incarnationLayer) Accept() (net.Conn, error) {
	c, err := l.StreamLayer.Accept()
	if err != nil {
		return nil, err
	}
	return &incarnationConn{Conn: c, layer: l}, nil
}

// exchange sends this host's incarnation and checks the one of the other end.
func (l *incarnationLayer) exchange(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(incarnationTimeout)); err != nil {
		return err
	}
	var mine, theirs [8]byte
	binary.BigEndian.PutUint64(mine[:], uint64(l.member.poolCache.Incarnation()))
	if _, err := c.Write(mine[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, theirs[:]); err != nil {
		return err
	}
	if err := (sessionHost{l.member}).checkIncarnation(int(binary.BigEndian.Uint64(theirs[:]))); err != nil {
		return err
	}
	if mine != theirs {
		return fmt.Errorf("%w (a server of incarnation %d)", spec.ErrOutdated, binary.BigEndian.Uint64(theirs[:]))
	}
	return c.SetDeadline(time.Time{})
}

// incarnationConn is an accepted connection that does the handshake at its first read.
type incarnationConn struct {
	net.Conn
	layer *incarnationLayer
	once  sync.Once
	err   error
}

func (g *incarnationConn) Read(b []byte) (int, error) {
	g.once.Do(func() { g.err = g.layer.exchange(g.Conn) })
	if g.err != nil {
		return 0, g.err
	}
	n, err := g.Conn.Read(b)
	if err != nil {
		if own := g.layer.member.localServer(); own != nil {
			own.node.RaftConnClosed()
		}
	}
	return n, err
}
