package consensus

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
	"pinion/server/peer"
)

// Incarnations knows the incarnations of the pool of this host.
type Incarnations interface {
	// Incarnation is the newest one that this host has seen.
	Incarnation() int
	// CheckServerIncarnation fails when a server of the pool is of a newer incarnation; the server here ends then.
	CheckServerIncarnation(incarnation int) error
}

// IncarnationLayer is a Raft stream layer whose handshake exchanges the pool's incarnation, and how often each of the two hosts
// was started. Servers of different incarnations do not communicate: the older one learns of the newer one here, and ends. So a
// recovered pool and servers of the old one never mix. A server that was started less often than its peer knows goes on from
// an older copy of its data directory, and has forgotten votes and changes: it is not heard.
type IncarnationLayer struct {
	raft.StreamLayer
	Pool     Incarnations
	Starts   int64            // of this host
	Node     func() *Node     // of this host; nil until it has started
	Refusals peer.Refusals    // is told of servers that are not heard; may be nil
	Logged   *peer.RefusalLog // which of them the log names
	Log      *slog.Logger
}

// incarnationTimeout bounds the handshake.
const incarnationTimeout = 3 * time.Second

// Dial connects and does the incarnation handshake at once. It returns a connection that redials: see newRedialConn.
func (l *IncarnationLayer) Dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	c, err := l.dial(address, timeout)
	if err != nil {
		return nil, err
	}
	return newRedialConn(c, func() (net.Conn, error) { return l.dial(address, timeout) }), nil
}

func (l *IncarnationLayer) dial(address raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
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
func (l *IncarnationLayer) Accept() (net.Conn, error) {
	c, err := l.StreamLayer.Accept()
	if err != nil {
		return nil, err
	}
	return &incarnationConn{Conn: c, layer: l}, nil
}

// exchange sends this host's incarnation and starts, and checks those of the other end.
func (l *IncarnationLayer) exchange(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(incarnationTimeout)); err != nil {
		return err
	}
	var mine, theirs [16]byte
	binary.BigEndian.PutUint64(mine[:], uint64(l.Pool.Incarnation()))
	binary.BigEndian.PutUint64(mine[8:], uint64(l.Starts))
	if _, err := c.Write(mine[:]); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, theirs[:]); err != nil {
		return err
	}
	incarnation := int(binary.BigEndian.Uint64(theirs[:]))
	if err := l.Pool.CheckServerIncarnation(incarnation); err != nil {
		return err
	}
	if incarnation != l.Pool.Incarnation() {
		return fmt.Errorf("%w (a server of incarnation %d)", spec.ErrOutdated, incarnation)
	}
	if err := l.checkStarts(peer.ConnHostID(c), c.RemoteAddr().String(), int64(binary.BigEndian.Uint64(theirs[8:]))); err != nil {
		return err
	}
	return c.SetDeadline(time.Time{})
}

// checkStarts refuses a server that was started less often than this one knows.
func (l *IncarnationLayer) checkStarts(hostID, address string, starts int64) error {
	node := l.Node()
	if node == nil {
		return nil
	}
	known := node.State().View().Host(hostID)
	if known == nil {
		return nil
	}
	err := known.CheckProcess("", starts, false)
	if err == nil {
		return nil
	}
	l.Refusals.Report(peer.Refusal{Operation: peer.OpConnect, HostID: known.ID, Address: address, Reason: err})
	if l.Logged.First(known.ID, "starts") {
		l.Log.Warn("a Raft connection from another server is refused", "hostId", known.ID, "error", err)
	}
	return err
}

// incarnationConn is an accepted connection that does the handshake at its first read.
type incarnationConn struct {
	net.Conn
	layer *IncarnationLayer
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
		if node := g.layer.Node(); node != nil {
			node.raftConnClosed()
		}
	}
	return n, err
}
