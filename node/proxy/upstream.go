package proxy

import (
	"context"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"pinion/raftfsm/traffic"
)

// upstream is the connections to targets. They are plain HTTP, as those of ELB to the targets of its groups.
type upstream struct {
	http1, http2 *http.Transport
}

const (
	dialTimeout = 2 * time.Second
	// deadPeer is how long a target may not acknowledge what was sent to it: its host has lost power or its network.
	deadPeer         = 10 * time.Second
	idleUpstreams    = 1024 // kept for each target
	idleUpstreamTime = time.Second
	maxAnswerHeaders = 64 << 10
)

func newUpstream() *upstream {
	return &upstream{http1: newTransport((*http.Protocols).SetHTTP1), http2: newTransport((*http.Protocols).SetUnencryptedHTTP2)}
}

// newTransport keeps connections for a second only. Servers close idle ones after 2 s (gunicorn) or 5 s (uvicorn, Node.js), and a POST that meets
// such an end cannot be repeated.
func newTransport(speak func(*http.Protocols, bool)) *http.Transport {
	protocols := new(http.Protocols)
	speak(protocols, true)
	return &http.Transport{
		Protocols:              protocols,
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, address) },
		DisableCompression:     true,
		MaxIdleConnsPerHost:    idleUpstreams,
		IdleConnTimeout:        idleUpstreamTime,
		MaxResponseHeaderBytes: maxAnswerHeaders,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: deadPeer, PingTimeout: deadPeer},
	}
}

func (u *upstream) of(version traffic.Version) http.RoundTripper {
	if version == traffic.HTTP2 || version == traffic.GRPC {
		return u.http2
	}
	return u.http1
}

func (u *upstream) close() {
	u.http1.CloseIdleConnections()
	u.http2.CloseIdleConnections()
}

// dialError is a target that cannot be connected to: it has seen nothing of the request.
type dialError struct{ error }

// Unwrap returns the reason.
func (e *dialError) Unwrap() error { return e.error }

var dialer = net.Dialer{
	Timeout:         dialTimeout,
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: deadPeer / 2, Interval: time.Second, Count: 5},
	Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(deadPeer.Milliseconds()))
		})
		if err != nil {
			return err
		}
		return failed
	},
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, &dialError{err}
	}
	return conn, nil
}

// buffers are for copying; httputil.ReverseProxy takes them, too.
var buffers = &bufferPool{}

type bufferPool struct{ pool sync.Pool }

const bufferSize = 32 << 10

// Get returns a buffer.
func (b *bufferPool) Get() []byte {
	if buffer, ok := b.pool.Get().(*[]byte); ok {
		return *buffer
	}
	return make([]byte, bufferSize)
}

// Put takes a buffer back.
func (b *bufferPool) Put(buffer []byte) { b.pool.Put(&buffer) }
