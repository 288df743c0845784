package proxy

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"time"

	"pinion/raftfsm/traffic"
)

// streams serves a listener of TCP or TLS: each connection is carried to one target.
type streams struct {
	of      *listener
	ctx     context.Context // ends when what is served is cut off
	cancel  context.CancelFunc
	serving sync.WaitGroup
}

func newStreams(l *listener) *streams {
	s := &streams{of: l}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Serve carries each connection that accepted yields, until it is closed.
func (s *streams) Serve(accepted net.Listener) error {
	for {
		conn, err := accepted.Accept()
		if err != nil {
			return err
		}
		s.serving.Go(func() { s.serve(conn) })
	}
}

// Shutdown waits for the connections; ctx cuts off those that wait for a target. Open ones are cut off by their listener.
func (s *streams) Shutdown(ctx context.Context) error {
	defer s.cancel()
	defer context.AfterFunc(ctx, func() { s.cancel(); s.of.conns.cut() })()
	s.serving.Wait()
	return ctx.Err()
}

func (s *streams) serve(client net.Conn) {
	defer client.Close()
	if secure, ok := client.(*tls.Conn); ok {
		ctx, cancel := context.WithTimeout(s.ctx, headerTimeout)
		err := secure.HandshakeContext(ctx)
		cancel()
		if err != nil {
			return
		}
	}
	setIdle(client, false) // it may be silent for long and is in use all the same, so that no other address has it cut off
	t := s.of.table.Load()
	g := t.rules[len(t.rules)-1].action.group()
	if g == nil {
		return
	}
	c := &call{access: s.of.proxy.access, listener: &t.config, client: client.RemoteAddr().String(), group: g, began: time.Now()}
	defer c.finish()
	upstream, err := s.connect(c, client)
	if err != nil {
		c.broken.Store(true)
		return
	}
	c.sent.Store(join(client, upstream))
	upstream.Close()
	g.release(c.target)
}

// connect finds a target that answers.
func (s *streams) connect(c *call, client net.Conn) (net.Conn, error) {
	settings, prefer := c.group.settings(), preference{}
	if a := settings.Affinity; a != nil && a.By == traffic.BySourceIP {
		prefer = preferHash(withoutPort(c.client))
	}
	var tried []*target
	for {
		t, err := s.acquire(c.group, client, prefer, tried)
		if err != nil {
			return nil, err
		}
		conn, err := s.of.proxy.dialer.dial(s.ctx, t.address)
		if err == nil && settings.ProxyProtocol {
			if _, err = conn.Write(proxyHeader(client.RemoteAddr(), client.LocalAddr())); err != nil {
				conn.Close()
			}
		}
		c.target = t
		c.attempts++
		if err == nil {
			c.answered()
			c.group.observe(t, succeeded)
			return conn, nil
		}
		c.group.observe(t, outcomeOfError(err))
		c.group.release(t)
		if tried = append(tried, t); len(tried) >= maxAttempts {
			return nil, err
		}
	}
}

// acquire is group.acquire; a client that leaves waits no more.
func (s *streams) acquire(g *group, client net.Conn, prefer preference, tried []*target) (*target, error) {
	t, err := g.acquireNow(prefer, tried)
	if t != nil || err != nil {
		return t, err
	}
	ctx, stop := whileConnected(s.ctx, client)
	defer stop()
	return g.acquire(ctx, prefer, tried)
}

// join copies both ways, and returns how much the client got, until both ends have said that nothing more comes, or one of them is closed.
func join(client, upstream io.ReadWriteCloser) (sent int64) {
	var both sync.WaitGroup
	both.Go(func() { pipe(upstream, client) })
	both.Go(func() { sent = pipe(client, upstream) })
	both.Wait()
	return sent
}

// pipe copies until from ends, and passes the end on. After an error nothing can be passed on: both are closed.
func pipe(to, from io.ReadWriteCloser) int64 {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	n, err := io.CopyBuffer(onlyWriter{to}, onlyReader{from}, buffer[:])
	if half, ok := to.(interface{ CloseWrite() error }); err == nil && ok && half.CloseWrite() == nil {
		return n
	}
	to.Close()
	from.Close()
	return n
}

// onlyReader and onlyWriter keep io.CopyBuffer from going around connection, which notes what is read and written.
type (
	onlyReader struct{ io.Reader }
	onlyWriter struct{ io.Writer }
)

const bufferSize = 32 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}
