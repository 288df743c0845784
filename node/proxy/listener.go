package proxy

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"pinion/raftfsm/traffic"
)

// listener is one open port. What it does with connections and requests is its table, which may be replaced while they are served.
type listener struct {
	proxy    *Proxy
	socket   socket
	protocol traffic.Protocol
	table    atomic.Pointer[table]
	conns    *connections
	requests requests
	serving  server
	done     chan struct{} // closed when nothing is accepted any more
}

// server serves the connections of a listener: http.Server, or streams.
type server interface {
	Serve(net.Listener) error
	// Shutdown closes the listener, has what is served finish, and returns when it has or ctx ends.
	Shutdown(ctx context.Context) error
}

var (
	_ server = (*http.Server)(nil)
	_ server = (*streams)(nil)
)

// Limits of a client's bytes before it is answered. ELB takes 64 KiB of headers; here it is half of that, because one connection of HTTP/2 can hold
// those of 640 requests.
const (
	maxHeaderBytes  = 28 << 10         // net/http allows 4 KiB more
	headerTimeout   = 10 * time.Second // and of a TLS handshake
	maxHTTP2Streams = 128              // of a connection, ELB's; Go has four times as many wait that were reset at once, with their headers
	// maxUnread bounds the unread bytes of one HTTP/2 connection to a client, and of one stream to a target.
	maxUnread = 128 << 10
)

func (p *Proxy) open(opened net.Listener, t *table) *listener {
	l := &listener{proxy: p, socket: socketOf(t.config), protocol: t.config.Protocol, done: make(chan struct{})}
	l.table.Store(t)
	l.requests.most = p.config.MaxConnections
	l.conns = newConnections(opened, p.config.MaxConnections, func() time.Duration { return l.table.Load().idleTimeout })
	var accepted net.Listener = l.conns
	if l.protocol.EndsTLS() {
		accepted = tls.NewListener(accepted, l.tlsConfig())
	}
	if l.protocol.IsHTTP() {
		l.serving = l.httpServer()
	} else {
		l.serving = newStreams(l)
	}
	go func() {
		defer close(l.done)
		if err := l.serving.Serve(accepted); err != nil && !l.conns.closed() {
			p.config.Log.Error("a listener accepts no more connections", "listener", t.config.ID, "error", err)
		}
	}()
	return l
}

// httpServer has no timeouts for bodies: a stream may take as long as it likes. connections cuts off what is silent.
func (l *listener) httpServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(l.protocol == traffic.HTTPS)
	protocols.SetUnencryptedHTTP2(l.protocol == traffic.HTTP)
	return &http.Server{
		Handler:                      http.HandlerFunc(l.serveHTTP),
		Protocols:                    protocols,
		HTTP2:                        &http.HTTP2Config{MaxConcurrentStreams: maxHTTP2Streams, MaxReceiveBufferPerConnection: maxUnread, MaxReceiveBufferPerStream: maxUnread},
		ReadHeaderTimeout:            headerTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		DisableGeneralOptionsHandler: true,
		ConnState:                    l.conns.setState,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, connectionOf(conn))
		},
		ErrorLog: slog.NewLogLogger(l.proxy.config.Log.Handler(), slog.LevelDebug), // what clients do wrong
	}
}

func (l *listener) tlsConfig() *tls.Config {
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return l.table.Load().certificates.choose(hello)
		},
	}
	challenge := config.Clone()
	challenge.NextProtos = []string{"acme-tls/1"} // RFC 8737
	if l.protocol.IsHTTP() {
		config.NextProtos = []string{"h2", "http/1.1"}
	}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if slices.Equal(hello.SupportedProtos, challenge.NextProtos) {
			return challenge, nil
		}
		return nil, nil
	}
	return config
}

// stop frees the port.
func (l *listener) stop() {
	l.conns.Close()
	<-l.done
}

// lastRequest bounds the wait for the request of a connection that was accepted before the end. http.Server.Shutdown answers none that it reads later.
const lastRequest = time.Second

// finish waits until nothing is served any more; when ctx ends it is cut off.
func (l *listener) finish(ctx context.Context) {
	if serving, is := l.serving.(*http.Server); is {
		serving.SetKeepAlivesEnabled(false) // idle connections end now, others behind their request
		last, cancel := context.WithTimeout(ctx, lastRequest)
		l.conns.wait(last)
		cancel()
	}
	_ = l.serving.Shutdown(ctx)
	l.conns.wait(ctx) // for WebSockets, which http.Server has forgotten
	l.conns.cut()
}
