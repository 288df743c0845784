package proxy

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

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

func newUpstream(d *targetDialer) *upstream {
	return &upstream{http1: newTransport(d, (*http.Protocols).SetHTTP1), http2: newTransport(d, (*http.Protocols).SetUnencryptedHTTP2)}
}

// newTransport keeps connections for a second only. Servers close idle ones after 2 s (gunicorn) or 5 s (uvicorn, Node.js), and a POST that meets
// such an end cannot be repeated.
func newTransport(d *targetDialer, speak func(*http.Protocols, bool)) *http.Transport {
	protocols := new(http.Protocols)
	speak(protocols, true)
	return &http.Transport{
		Protocols:              protocols,
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return d.dial(ctx, address) },
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
