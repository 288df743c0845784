package server

import (
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"pinion/raftfsm/spec"
	"pinion/server/consensus"
	"pinion/server/peer"
)

// incarnationLayer is a Raft stream layer whose handshake exchanges the pool's incarnation, and how often each of the two hosts
// was started. Servers of different incarnations do not communicate: the older one learns of the newer one here, and ends. So a
// recovered pool and servers of the old one never mix. A server that was started less often than its peer knows goes on from
// an older copy of its data directory, and has forgotten votes and changes: it is not heard.
type incarnationLayer struct {
	raft.StreamLayer
	pool *poolFollower
	auth *peerAuthorizer
	log  *slog.Logger
}

// incarnationTimeout is how long the other end may take to say its part.
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

// exchange sends this host's incarnation and starts, and checks those of the other end.
func (l *incarnationLayer) exchange(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(incarnationTimeout)); err != nil {
		return err
	}
	var mine, theirs [16]byte
	binary.BigEndian.PutUint64(mine[:], uint64(l.pool.cache.Incarnation()))
	binary.BigEndian.PutUint64(mine[8:], uint64(l.pool.cfg.Starts))
	if _, err := c.Write(mine[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, theirs[:]); err != nil {
		return err
	}
	incarnation := int(binary.BigEndian.Uint64(theirs[:]))
	if err := l.pool.checkIncarnation(incarnation); err != nil {
		return err
	}
	if incarnation != l.pool.cache.Incarnation() {
		return fmt.Errorf("%w (a server of incarnation %d)", spec.ErrOutdated, incarnation)
	}
	if err := l.checkStarts(peer.ConnHostID(c), c.RemoteAddr().String(), int64(binary.BigEndian.Uint64(theirs[8:]))); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// checkStarts refuses a server that was started less often than this one knows.
func (l *incarnationLayer) checkStarts(hostID, address string, starts int64) error {
	own := l.pool.server.Load()
	if own == nil {
		return nil
	}
	known := own.state.View().Host(hostID)
	if known == nil {
		return nil
	}
	err := known.CheckProcess("", starts, false)
	if err == nil {
		return nil
	}
	l.pool.cfg.Port.ReportRefusal(peer.Refusal{Operation: peer.OpConnect, HostID: known.ID, Address: address, Reason: err})
	if l.auth.logged.first(known.ID, "starts") {
		l.log.Warn("a server is not heard", "error", err)
	}
	return err
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
		if own := g.layer.pool.server.Load(); own != nil {
			own.node.RaftConnClosed()
		}
	}
	return n, err
}
