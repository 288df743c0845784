package server

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
)

// mesh is a network in memory between a few servers. Every link has two directions, each of which can be cut. As with
// TCP nothing is lost or overtaken on a connection: what meets a cut waits until it is mended, however long the sender
// has given up by then.
type mesh struct {
	mu    sync.Mutex
	cuts  map[route]*atomic.Bool
	ports map[raft.ServerAddress]*meshPort
	ends  []*flow       // of every connection that is open at one end at least
	over  chan struct{} // closed by close

	snapshots atomic.Int64 // that one server has sent to another
}

// route is one direction of a link.
type route struct{ from, to raft.ServerAddress }

func newMesh() *mesh {
	return &mesh{cuts: map[route]*atomic.Bool{}, ports: map[raft.ServerAddress]*meshPort{}, over: make(chan struct{})}
}

func (m *mesh) cut(r route) *atomic.Bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cuts[r]
}

// whole reports whether the link is, in both directions.
func (m *mesh) whole(one, other raft.ServerAddress) bool {
	return !m.cut(route{one, other}).Load() && !m.cut(route{other, one}).Load()
}

func (m *mesh) port(address raft.ServerAddress) *meshPort {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ports[address]
}

// set cuts exactly the routes that broken names, and mends the others.
func (m *mesh) set(broken func(route) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for r, cut := range m.cuts {
		cut.Store(r.from != r.to && broken(r))
	}
	m.ends = slices.DeleteFunc(m.ends, (*flow).gone)
	for _, f := range m.ends {
		f.wake()
	}
}

// listen makes a port, which is the raft.StreamLayer of one server, and links it with those before.
func (m *mesh) listen(address raft.ServerAddress) *meshPort {
	p := &meshPort{mesh: m, address: address, arriving: make(chan net.Conn, 64), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ports[address] = p
	for other := range m.ports {
		m.cuts[route{address, other}], m.cuts[route{other, address}] = &atomic.Bool{}, &atomic.Bool{}
	}
	return p
}

// close ends every connection, as the end of a process does, and lets nobody make another.
func (m *mesh) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.over)
	for _, f := range m.ends {
		f.close()
	}
}

// connect makes a connection to the port of another server.
func (m *mesh) connect(from, to raft.ServerAddress) (net.Conn, error) {
	there, back := newFlow(m.cut(route{from, to})), newFlow(m.cut(route{to, from}))
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.over:
		return nil, fmt.Errorf("dial %s: connection refused", to)
	default:
	}
	select {
	case m.ports[to].arriving <- &meshConn{in: there, out: back}:
		m.ends = append(m.ends, there, back)
		return &meshConn{in: back, out: there}, nil
	default:
		return nil, fmt.Errorf("dial %s: its backlog is full", to)
	}
}

// meshPort is where one server listens and dials from.
type meshPort struct {
	mesh     *mesh
	address  raft.ServerAddress
	arriving chan net.Conn
	closed   chan struct{}
	close    sync.Once

	transport *shortcut // of the server that listens here
}

// redial is the pause until a lost SYN is sent again.
const redial = time.Second

// Dial needs both directions of the link, for an answer comes back.
func (p *meshPort) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	for waited := redial; !p.mesh.whole(p.address, to); waited += redial {
		if waited > timeout {
			return nil, os.ErrDeadlineExceeded
		}
		time.Sleep(redial)
	}
	return p.mesh.connect(p.address, to)
}

// Accept answers connections until Close.
func (p *meshPort) Accept() (net.Conn, error) {
	select {
	case conn := <-p.arriving:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *meshPort) Close() error   { p.close.Do(func() { close(p.closed) }); return nil }
func (p *meshPort) Addr() net.Addr { return meshAddr(p.address) }

type meshAddr string

func (a meshAddr) Network() string { return "mesh" }
func (a meshAddr) String() string  { return string(a) }

// meshConn is one end of a connection.
type meshConn struct{ in, out *flow }

func (c *meshConn) Read(p []byte) (int, error)         { return c.in.read(p) }
func (c *meshConn) Write(p []byte) (int, error)        { return c.out.write(p) }
func (c *meshConn) Close() error                       { c.in.forget(); c.out.close(); return nil }
func (c *meshConn) LocalAddr() net.Addr                { return meshAddr("here") }
func (c *meshConn) RemoteAddr() net.Addr               { return meshAddr("there") }
func (c *meshConn) SetDeadline(t time.Time) error      { return c.SetReadDeadline(t) }
func (c *meshConn) SetReadDeadline(t time.Time) error  { c.in.expire(t); return nil }
func (c *meshConn) SetWriteDeadline(t time.Time) error { return nil } // a write never waits

// flow is one direction of a connection: bytes under way.
type flow struct {
	cut     *atomic.Bool
	mu      sync.Mutex
	changed *sync.Cond
	alarm   *time.Timer // wakes the reader; made when first needed

	bytes     []byte
	arrives   time.Time // of the last byte
	expires   time.Time // the reader's deadline; zero for none
	ended     bool      // by the writer: end of file behind the last byte
	forgotten bool      // by the reader
}

func newFlow(cut *atomic.Bool) *flow {
	f := &flow{cut: cut}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// farthest is the longest that a byte is under way.
const farthest = 3 * time.Millisecond

func (f *flow) write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return 0, net.ErrClosed
	}
	if at := time.Now().Add(rand.N(farthest)); at.After(f.arrives) {
		f.arrives = at
	}
	if !f.forgotten {
		f.bytes = append(f.bytes, p...)
		f.changed.Broadcast()
	}
	return len(p), nil
}

func (f *flow) read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		now := time.Now()
		switch late := f.cut.Load() || now.Before(f.arrives); {
		case f.forgotten:
			return 0, net.ErrClosed
		case !f.expires.IsZero() && !now.Before(f.expires):
			return 0, os.ErrDeadlineExceeded
		case !late && len(f.bytes) > 0:
			n := copy(p, f.bytes)
			f.bytes = f.bytes[:copy(f.bytes, f.bytes[n:])]
			return n, nil
		case !late && f.ended:
			return 0, io.EOF
		}
		f.wait(now)
	}
}

// wait returns when something has changed, the bytes are there, or the deadline has passed.
func (f *flow) wait(now time.Time) {
	next := f.expires
	if len(f.bytes) > 0 && now.Before(f.arrives) && (next.IsZero() || f.arrives.Before(next)) {
		next = f.arrives
	}
	if !next.IsZero() {
		if f.alarm == nil {
			f.alarm = time.AfterFunc(next.Sub(now), f.wake)
		} else {
			f.alarm.Reset(next.Sub(now))
		}
	}
	f.changed.Wait()
}

func (f *flow) wake() {
	f.mu.Lock() // or a reader that is about to wait would miss it
	defer f.mu.Unlock()
	f.changed.Broadcast()
}

func (f *flow) expire(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expires = at
	f.changed.Broadcast()
}

// close is the writer's: the reader gets what is under way, and then the end.
func (f *flow) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.changed.Broadcast()
}

// gone reports whether both ends are closed.
func (f *flow) gone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended && f.forgotten
}

// forget is the reader's.
func (f *flow) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgotten, f.bytes = true, nil
	f.changed.Broadcast()
}
