package peer

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"pinion/server/pki"
)

// handshakeTimeout bounds the time from a caller's first packet until the protocol's server accepts the connection.
const handshakeTimeout = 5 * time.Second

// Port is this host's one TLS port. It is safe for concurrent use.
type Port struct {
	listener   net.Listener
	identity   *pki.Identity
	log        *slog.Logger
	authorizer atomic.Pointer[Authorizer]
	refusals   atomic.Pointer[Refusals]

	ctx    context.Context // ends with the port
	cancel context.CancelFunc
	group  sync.WaitGroup // the accept loop and the handshakes

	mu        sync.Mutex
	listeners map[string]*protocolListener // the open ones, by ALPN
	conns     map[*conn]string             // every live connection -> id of the host at its other end, empty for clients
	clients   clientCount                  // of conns
	reserved  []*conn                      // of conns, those beyond the bounds of clients, the oldest first
	hosts     map[string]int               // of conns, by id
}

// Listen begins to answer on l, which belongs to the port from then on. Callers are turned away until the listener for
// what they speak is opened.
func Listen(l net.Listener, id *pki.Identity, log *slog.Logger) *Port {
	p := &Port{listener: l, identity: id, log: log, listeners: map[string]*protocolListener{}, conns: map[*conn]string{}, clients: newClientCount(), hosts: map[string]int{}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.group.Go(p.accept)
	return p
}

// Addr is where the port listens.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// API opens the listener for clients. Its connections are *tls.Conn with the handshake done, "h2", "http/1.1" or nothing
// negotiated. No certificate is asked for.
//
// Of each of API, Peer, Raft and Join one listener is open at a time: the next call closes the one before. After Close
// of a listener its callers are turned away.
func (p *Port) API() net.Listener { return p.listen(api) }

// Peer opens the listener for calls of other hosts, which Serve takes.
func (p *Port) Peer() net.Listener { return p.listen(Peer) }

// Raft opens the listener for Raft's connections; see RaftLayer.
func (p *Port) Raft() net.Listener { return p.listen(Raft) }

// Join opens the listener for hosts without a certificate, for Serve. Its callers are not authenticated; each connection
// lives for at most 30 seconds.
func (p *Port) Join() net.Listener { return p.listen(Join) }

// Authorizer decides whether a host that showed a valid certificate for its id and this key (see pki.PublicKeyHash) is heard. It must
// not wait. Its error is why the host is refused.
type Authorizer func(hostID, key, protocol string) error

// SetAuthorizer sets the function that is asked at every handshake for Peer and Raft, more than once for one connection too. Before
// the first call every host with a valid certificate is authorized.
func (p *Port) SetAuthorizer(authorize Authorizer) { p.authorizer.Store(&authorize) }

func (p *Port) checkAdmitted(hostID, protocol string, shown *x509.Certificate) error {
	if authorize := p.authorizer.Load(); authorize != nil {
		return (*authorize)(hostID, pki.PublicKeyHash(shown), protocol)
	}
	return nil
}

// CloseHost closes every connection of the host to this port. Call it after the authorizer has begun to refuse the host: then
// no connection is left and no new one is accepted.
func (p *Port) CloseHost(hostID string) {
	for _, c := range p.connsOf(func(of string) bool { return of == hostID && of != "" }) {
		c.Close()
	}
}

// Close ends the port with all its listeners and connections, and returns when nothing of it runs any more.
func (p *Port) Close() error {
	p.cancel()
	err := p.listener.Close()
	p.closeListeners(net.ErrClosed)
	for _, c := range p.connsOf(func(string) bool { return true }) {
		c.Close()
	}
	p.group.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// accept never waits for a caller: each has a goroutine of its own until it is handed on or turned away.
func (p *Port) accept() {
	for {
		raw, err := p.listener.Accept()
		switch {
		case err == nil:
			p.group.Go(func() { p.serveConn(raw) })
		case p.ctx.Err() != nil:
			return
		case isTemporary(err):
			p.log.Warn("cannot accept connections for now", "error", err)
			select {
			case <-time.After(100 * time.Millisecond):
			case <-p.ctx.Done():
			}
		default:
			p.closeListeners(err)
			return
		}
	}
}

// isTemporary reports whether accepting is worth another try: a caller that gave up, or a lack of files or memory.
func isTemporary(err error) bool {
	for _, errno := range []syscall.Errno{syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}
