package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/raft"
	"golang.org/x/sys/unix"

	"pinion/server/pki"
)

// RaftLayer is what Raft's transport (see BindRaft) sends and hears through. Raft leaves pooled connections open when it ends, so the
// layer knows all of its connections and closes them with itself. advertise is where other servers reach this one (see
// Address). A port serves one layer at a time; after Close of one, another can be made.
func RaftLayer(port *Port, d *Dialer, advertise net.Addr) raft.StreamLayer {
	return &raftLayer{Listener: port.Raft(), dialer: d, advertise: advertise, conns: map[*raftConn]struct{}{}}
}

type raftLayer struct {
	net.Listener
	dialer    *Dialer
	advertise net.Addr

	mu     sync.Mutex
	conns  map[*raftConn]struct{}
	closed bool
}

func (l *raftLayer) Addr() net.Addr { return l.advertise }

func (l *raftLayer) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.track(c)
}

// Dial connects to the host that the bound address names (see BindRaft), and fails when another host answers there. It
// takes the dialer's two seconds at most, also when Raft would wait for longer.
func (l *raftLayer) Dial(target raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	hostID, address, err := splitBound(target)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	c, err := l.dialer.Dial(ctx, Raft, address, hostID)
	if err != nil {
		return nil, err
	}
	return l.track(c)
}

func (l *raftLayer) Close() error {
	err := l.Listener.Close()
	l.mu.Lock()
	l.closed = true
	open := l.conns
	l.conns = nil
	l.mu.Unlock()
	for c := range open {
		c.Conn.Close()
	}
	return err
}

// track makes a connection known to Close.
func (l *raftLayer) track(c net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		c.Close()
		return nil, net.ErrClosed
	}
	kept := &raftConn{Conn: c, layer: l}
	l.conns[kept] = struct{}{}
	return kept, nil
}

// ConnHostID is the id of the host at the other end of a connection of a RaftLayer, as its certificate says; empty for others.
func ConnHostID(c net.Conn) string {
	if tracked, ok := c.(*raftConn); ok {
		c = tracked.Conn
	}
	switch c := c.(type) {
	case *hostConn:
		return c.hostID
	case *tls.Conn:
		if shown := c.ConnectionState().PeerCertificates; len(shown) > 0 {
			hostID, _ := pki.HostOf(shown[0])
			return hostID
		}
	}
	return ""
}

type raftConn struct {
	net.Conn
	layer *raftLayer
}

// Gone reports whether the other end has closed this idle connection.
func (c *raftConn) Gone() bool {
	secured, ok := c.Conn.(*tls.Conn)
	if !ok {
		return false
	}
	below, ok := secured.NetConn().(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := below.SyscallConn()
	if err != nil {
		return true
	}
	gone := true
	err = raw.Read(func(fd uintptr) bool {
		// Unread data here is the end of the stream: between two requests the other end sends nothing else.
		_, _, err := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		gone = !errors.Is(err, unix.EAGAIN)
		return true
	})
	return gone || err != nil
}

func (c *raftConn) Close() error {
	c.layer.mu.Lock()
	delete(c.layer.conns, c)
	c.layer.mu.Unlock()
	return c.Conn.Close()
}
