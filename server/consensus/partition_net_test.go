package consensus

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

// memNetwork is a network in memory between a few servers. Every link has two directions, each of which can be cut. As with
// TCP nothing is lost or overtaken on a connection: what meets a cut waits until it is mended, however long the sender
// has given up by then.
type memNetwork struct {
	mu    sync.Mutex
	cuts  map[route]*atomic.Bool
	ports map[raft.ServerAddress]*memListener
	ends  []*memPipe    // of every connection that is open at one end at least
	over  chan struct{} // closed by close

	snapshots atomic.Int64 // that one server has sent to another
}

// route is one direction of a link.
type route struct{ from, to raft.ServerAddress }

func newMemNetwork() *memNetwork {
	return &memNetwork{cuts: map[route]*atomic.Bool{}, ports: map[raft.ServerAddress]*memListener{}, over: make(chan struct{})}
}

func (m *memNetwork) cut(r route) *atomic.Bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cuts[r]
}

// whole reports whether the link is, in both directions.
func (m *memNetwork) whole(one, other raft.ServerAddress) bool {
	return !m.cut(route{one, other}).Load() && !m.cut(route{other, one}).Load()
}

func (m *memNetwork) port(address raft.ServerAddress) *memListener {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ports[address]
}

// set cuts exactly the routes that broken names, and mends the others.
func (m *memNetwork) set(broken func(route) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for r, cut := range m.cuts {
		cut.Store(r.from != r.to && broken(r))
	}
	m.ends = slices.DeleteFunc(m.ends, (*memPipe).gone)
	for _, f := range m.ends {
		f.wake()
	}
}

// listen makes a port, which is the raft.StreamLayer of one server, and links it with those before.
func (m *memNetwork) listen(address raft.ServerAddress) *memListener {
	p := &memListener{mesh: m, address: address, arriving: make(chan net.Conn, 64), closed: make(chan struct{})}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ports[address] = p
	for other := range m.ports {
		m.cuts[route{address, other}], m.cuts[route{other, address}] = &atomic.Bool{}, &atomic.Bool{}
	}
	return p
}

// close ends every connection, as the end of a process does, and lets nobody make another.
func (m *memNetwork) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	close(m.over)
	for _, f := range m.ends {
		f.close()
	}
}

// connect makes a connection to the port of another server.
func (m *memNetwork) connect(from, to raft.ServerAddress) (net.Conn, error) {
	there, back := newMemPipe(m.cut(route{from, to})), newMemPipe(m.cut(route{to, from}))
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.over:
		return nil, fmt.Errorf("dial %s: connection refused", to)
	default:
	}
	select {
	case m.ports[to].arriving <- &memConn{in: there, out: back}:
		m.ends = append(m.ends, there, back)
		return &memConn{in: back, out: there}, nil
	default:
		return nil, fmt.Errorf("dial %s: its backlog is full", to)
	}
}

// memListener is where one server listens and dials from.
type memListener struct {
	mesh     *memNetwork
	address  raft.ServerAddress
	arriving chan net.Conn
	closed   chan struct{}
	close    sync.Once

	transport *directTransport // of the server that listens here
}

// redial is the pause until a lost SYN is sent again.
const redial = time.Second

// Dial needs both directions of the link, for an answer comes back.
func (p *memListener) Dial(to raft.ServerAddress, timeout time.Duration) (net.Conn, error) {
	for waited := redial; !p.mesh.whole(p.address, to); waited += redial {
		if waited > timeout {
			return nil, os.ErrDeadlineExceeded
		}
		time.Sleep(redial)
	}
	return p.mesh.connect(p.address, to)
}

// Accept answers connections until Close.
func (p *memListener) Accept() (net.Conn, error) {
	select {
	case conn := <-p.arriving:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *memListener) Close() error   { p.close.Do(func() { close(p.closed) }); return nil }
func (p *memListener) Addr() net.Addr { return memAddr(p.address) }

type memAddr string

func (a memAddr) Network() string { return "mesh" }
func (a memAddr) String() string  { return string(a) }

// memConn is one end of a connection.
type memConn struct{ in, out *memPipe }

func (c *memConn) Read(p []byte) (int, error)         { return c.in.read(p) }
func (c *memConn) Write(p []byte) (int, error)        { return c.out.write(p) }
func (c *memConn) Close() error                       { c.in.forget(); c.out.close(); return nil }
func (c *memConn) LocalAddr() net.Addr                { return memAddr("here") }
func (c *memConn) RemoteAddr() net.Addr               { return memAddr("there") }
func (c *memConn) SetDeadline(t time.Time) error      { return c.SetReadDeadline(t) }
func (c *memConn) SetReadDeadline(t time.Time) error  { c.in.expire(t); return nil }
func (c *memConn) SetWriteDeadline(t time.Time) error { return nil } // a write never waits

// memPipe is one direction of a connection: bytes under way.
type memPipe struct {
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

func newMemPipe(cut *atomic.Bool) *memPipe {
	f := &memPipe{cut: cut}
	f.changed = sync.NewCond(&f.mu)
	return f
}

// maxLatency is the longest that a byte is under way.
const maxLatency = 3 * time.Millisecond

func (f *memPipe) write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return 0, net.ErrClosed
	}
	if at := time.Now().Add(rand.N(maxLatency)); at.After(f.arrives) {
		f.arrives = at
	}
	if !f.forgotten {
		f.bytes = append(f.bytes, p...)
		f.changed.Broadcast()
	}
	return len(p), nil
}

func (f *memPipe) read(p []byte) (int, error) {
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
func (f *memPipe) wait(now time.Time) {
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

func (f *memPipe) wake() {
	f.mu.Lock() // or a reader that is about to wait would miss it
	defer f.mu.Unlock()
	f.changed.Broadcast()
}

func (f *memPipe) expire(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expires = at
	f.changed.Broadcast()
}

// close is the writer's: the reader gets what is under way, and then the end.
func (f *memPipe) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.changed.Broadcast()
}

// gone reports whether both ends are closed.
func (f *memPipe) gone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended && f.forgotten
}

// forget is the reader's.
func (f *memPipe) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgotten, f.bytes = true, nil
	f.changed.Broadcast()
}
