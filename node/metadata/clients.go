package metadata

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// grace is for how long a connection may be silent whatever comes after it: a request over loopback is there at once.
const grace = 100 * time.Millisecond

// clients is a listener with so many connections at most. Beyond them the one goes that has been silent for longest: it has sent no whole request since it
// was opened or answered. Who opens many and says nothing keeps nobody else out.
type clients struct {
	net.Listener
	max  int
	done chan struct{} // closed by Close

	mu    sync.Mutex
	open  map[*client]bool
	freed chan struct{} // holds a value when a connection has been closed, or has become silent
	once  sync.Once
}

// client is one connection.
type client struct {
	net.Conn
	of     *clients
	busy   int       // requests that are answered; guarded by clients.mu, like silent
	silent time.Time // since when it is, while it is not busy
}

func newClients(l net.Listener, most int) *clients {
	return &clients{Listener: l, max: most, done: make(chan struct{}), open: map[*client]bool{}, freed: make(chan struct{}, 1)}
}

// Accept is the next connection, when there is room for it.
func (l *clients) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	for {
		c, wait := l.admit(connection)
		if c != nil {
			return c, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.freed:
			timer.Stop()
		case <-l.done:
			timer.Stop()
			_ = connection.Close()
			return nil, net.ErrClosed
		}
	}
}

// admit takes a connection in, in the place of the one that has been silent for longest if there is no other one; or else it says how long to wait.
func (l *clients) admit(connection net.Conn) (c *client, wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.max {
		oldest := l.longestSilent()
		if oldest == nil {
			return nil, time.Hour // until freed
		}
		if wait = time.Until(oldest.silent.Add(grace)); wait > 0 {
			return nil, wait
		}
		delete(l.open, oldest)
		_ = oldest.Conn.Close()
	}
	c = &client{Conn: connection, of: l, silent: time.Now()}
	l.open[c] = true
	return c, 0
}

// longestSilent is nil when all connections are busy.
func (l *clients) longestSilent() (oldest *client) {
	for c := range l.open {
		if c.busy == 0 && (oldest == nil || c.silent.Before(oldest.silent)) {
			oldest = c
		}
	}
	return oldest
}

// Close ends the listener, and who waits in Accept.
func (l *clients) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

// Close gives its place to another one.
func (c *client) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.mu.Unlock()
	c.of.wake()
	return c.Conn.Close()
}

// wake ends the wait of whoever waits in Accept.
func (l *clients) wake() {
	select {
	case l.freed <- struct{}{}:
	default:
	}
}

// clientKey is the key of a client in the contexts of its requests.
type clientKey struct{}

// withClient is a server's ConnContext.
func withClient(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// answering keeps the connection of a request until done is called.
func answering(r *http.Request) (done func()) {
	c, is := r.Context().Value(clientKey{}).(*client)
	if !is {
		return func() {}
	}
	c.of.mu.Lock()
	c.busy++
	c.of.mu.Unlock()
	return func() {
		c.of.mu.Lock()
		c.busy--
		c.silent = time.Now()
		c.of.mu.Unlock()
		c.of.wake()
	}
}
