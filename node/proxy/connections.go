package proxy

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// connections accepts the connections of one listener and holds them to two bounds: how many there are, and how long each may be silent. A
// deadline for each read would do the second, but net/http sets its own.
type connections struct {
	net.Listener
	most        int
	idleTimeout func() time.Duration

	idle atomic.Int64 // how many are idle

	mu       sync.Mutex
	open     map[*connection]struct{}
	networks networkCounts
	empty    chan struct{} // closed when none is open; nil while nobody waits
	end      chan struct{} // closed by Close
}

// connection is one client.
type connection struct {
	net.Conn
	all      *connections
	network  string       // whose it is, see networkOf
	used     atomic.Int64 // when something was last read or written, in ns of time.Since(began)
	idle     atomic.Bool  // between two requests of HTTP, or before the first; during the handshake of TLS
	requests int          // of HTTP that are under way; type requests counts them, under its lock
}

// began makes the time of connections one number that no step of the wall clock moves.
var began = time.Now()

func newConnections(socket net.Listener, most int, idleTimeout func() time.Duration) *connections {
	c := &connections{Listener: socket, most: most, idleTimeout: idleTimeout, open: map[*connection]struct{}{}, networks: newNetworkCounts(), end: make(chan struct{})}
	go c.sweep()
	return c
}

// Accept returns the next client's connection. At the bound it cuts off a part of the idle ones; when none is idle, a part of those of the network that has the
// most, or the new one.
func (c *connections) Accept() (net.Conn, error) {
	for {
		accepted, err := c.Listener.Accept()
		if err != nil && isShortage(err) && !c.closed() {
			c.cutOldest()
			c.pause(shortagePause)
			continue
		}
		if err != nil {
			return nil, err
		}
		conn := &connection{Conn: accepted, all: c, network: networkOf(accepted.RemoteAddr().String())}
		conn.setIdle(true)
		conn.touch()
		if c.add(conn) {
			return conn, nil
		}
		conn.Close()
	}
}

const shortagePause = 50 * time.Millisecond

// isShortage reports whether accepting or connecting may succeed later: this process or the machine is out of files, memory or ports, or the client has
// left.
func isShortage(err error) bool {
	for _, one := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.ECONNABORTED, syscall.EADDRNOTAVAIL} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}

// pause waits, but not beyond Close.
func (c *connections) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.end:
	}
}

func (c *connections) add(conn *connection) bool {
	c.mu.Lock()
	full := len(c.open) >= c.most
	if !full {
		c.open[conn] = struct{}{}
		c.networks.add(conn.network, 1)
	}
	c.mu.Unlock()
	if !full {
		return true
	}
	if c.cutOldest() == 0 && c.cutMost(conn.network) == 0 {
		return false
	}
	return c.add(conn)
}

// cutMost closes as many, those that were used least lately, of the network that has the most connections, and says how many; none when another one
// of newcomer would make that the network with the most. So who sends many requests slowly from one network keeps nobody else out.
func (c *connections) cutMost(newcomer string) int {
	c.mu.Lock()
	most, greater := c.networks.greatest(newcomer)
	c.mu.Unlock()
	if !greater {
		return 0
	}
	return c.cutSome(func(conn *connection) bool { return conn.network == most })
}

// cutOldest closes one in 64 of the connections, those that have been idle for longest, and says how many.
func (c *connections) cutOldest() int {
	if c.idle.Load() == 0 { // newcomers at the bound may be many: no look at every connection for each
		return 0
	}
	return c.cutSome(func(conn *connection) bool { return conn.idle.Load() })
}

// cutSome closes one in 64 of the connections, those of the fitting ones that were used least lately, and says how many.
func (c *connections) cutSome(fits func(*connection) bool) int {
	some := c.chosen(fits)
	slices.SortFunc(some, func(a, b *connection) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	some = some[:min(len(some), c.most/64+1)]
	for _, conn := range some {
		conn.Close()
	}
	return len(some)
}

func (c *connections) chosen(fits func(*connection) bool) (all []*connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn := range c.open {
		if fits(conn) {
			all = append(all, conn)
		}
	}
	return all
}

const (
	shortestSweep = 10 * time.Millisecond
	longestSweep  = 15 * time.Second
	sweeps        = 4 // in one idle timeout
)

// sweep closes connections that have been silent for longer than the idle timeout, until none can come any more and none is open.
func (c *connections) sweep() {
	for {
		timeout := c.idleTimeout()
		c.pause(min(max(timeout/sweeps, shortestSweep), longestSweep))
		if c.closed() {
			return
		}
		before := int64(time.Since(began) - timeout - timeout/sweeps)
		for _, conn := range c.chosen(func(conn *connection) bool { return conn.used.Load() < before }) {
			conn.Close()
		}
	}
}

// Close stops accepting. Open connections go on.
func (c *connections) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed() {
		return nil
	}
	close(c.end)
	return c.Listener.Close()
}

func (c *connections) closed() bool {
	select {
	case <-c.end:
		return true
	default:
		return false
	}
}

// wait returns when no connection is open, or when ctx ends.
func (c *connections) wait(ctx context.Context) {
	c.mu.Lock()
	c.empty = make(chan struct{})
	empty := c.empty
	if len(c.open) == 0 {
		close(empty)
		c.empty = nil
	}
	c.mu.Unlock()
	select {
	case <-empty:
	case <-ctx.Done():
	}
}

// cut closes all open connections.
func (c *connections) cut() {
	for _, conn := range c.chosen(func(*connection) bool { return true }) {
		conn.Close()
	}
}

// setState is http.Server's hook: it knows when a connection is between two requests.
func (c *connections) setState(conn net.Conn, state http.ConnState) {
	setIdle(conn, state == http.StateIdle || state == http.StateNew)
}

// setIdle records whether the connection is idle; see connectionOf.
func setIdle(conn net.Conn, idle bool) {
	if mine := connectionOf(conn); mine != nil {
		mine.setIdle(idle)
	}
}

func (c *connection) setIdle(idle bool) {
	switch was := c.idle.Swap(idle); {
	case idle && !was:
		c.all.idle.Add(1)
	case was && !idle:
		c.all.idle.Add(-1)
	}
}

// connectionKey is the key of its connection in the context of a request.
type connectionKey struct{}

// connectionOf is the connection that http.Server or streams has, or that TLS was put over; nil of another one.
func connectionOf(conn net.Conn) *connection {
	if wrapped, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = wrapped.NetConn()
	}
	mine, _ := conn.(*connection)
	return mine
}

func (c *connection) touch() { c.used.Store(int64(time.Since(began))) }

func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.touch()
	return n, err
}

func (c *connection) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.touch()
	return n, err
}

// CloseWrite tells the client that nothing more comes.
func (c *connection) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *connection) Close() error {
	c.all.remove(c)
	c.setIdle(false)
	return c.Conn.Close()
}

func (c *connections) remove(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, open := c.open[conn]; !open {
		return
	}
	delete(c.open, conn)
	c.networks.add(conn.network, -1)
	if len(c.open) == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}
