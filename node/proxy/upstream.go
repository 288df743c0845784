package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"time"

	"pinion/node/proxy/http1"
	"pinion/raftfsm/traffic"
)

// upstream is the connections to targets. They are plain HTTP, as those of ELB to the targets of its groups.
type upstream struct {
	http1 http1.Transport
	http2 http2Transport
}

// sender sends a request to r.URL.Host. It returns http1.ErrSilent when the patience ends.
type sender interface {
	Send(r *http.Request, o http1.Options) (*http.Response, error)
}

var (
	_ sender = (*http1.Transport)(nil)
	_ sender = (*http2Transport)(nil)
)

const (
	dialTimeout = 2 * time.Second
	// deadPeer bounds the wait for a target's acknowledgements: beyond it the host has lost power or its network.
	deadPeer         = 10 * time.Second
	idleHTTP2Time    = time.Second
	maxAnswerHeaders = 64 << 10
)

func newUpstream(d *targetDialer) *upstream {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &upstream{http1: http1.Transport{Dial: d.dial}, http2: http2Transport{http.Transport{
		Protocols:              protocols,
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return d.dial(ctx, address) },
		DisableCompression:     true,
		IdleConnTimeout:        idleHTTP2Time,
		MaxResponseHeaderBytes: maxAnswerHeaders,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout: deadPeer, PingTimeout: deadPeer,
			MaxReceiveBufferPerStream: maxUnread, // a client that does not read holds up its own stream only
		},
	}}}
}

func (u *upstream) of(version traffic.Version) sender {
	if version == traffic.HTTP2 || version == traffic.GRPC {
		return &u.http2
	}
	return &u.http1
}

func (u *upstream) close() {
	u.http1.CloseIdleConnections()
	u.http2.CloseIdleConnections()
}

// http2Transport speaks HTTP/2 without TLS.
type http2Transport struct{ http.Transport }

// Send ends the stream when the patience ends, and when the answer's body is closed.
func (t *http2Transport) Send(r *http.Request, o http1.Options) (*http.Response, error) {
	i := &informed{onInterim: o.Informed}
	ctx := httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{Got1xxResponse: i.got})
	ctx, cancel := context.WithCancelCause(ctx)
	silence := time.AfterFunc(o.Patience, func() { cancel(http1.ErrSilent) })
	out := r.WithContext(ctx)
	out.Trailer = nil
	if r.Body != nil {
		out.Body = &countedBody{r.Body, func() { silence.Reset(o.Patience) }}
	}
	answer, err := t.RoundTrip(out)
	silence.Stop()
	i.stop()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		cancel(nil)
		return nil, err
	}
	answer.Body = &canceledBody{answer.Body, cancel}
	return answer, nil
}

// countedBody is a request's body; used is called before each piece of it.
type countedBody struct {
	io.ReadCloser
	used func()
}

// Read reads another piece.
func (b *countedBody) Read(p []byte) (int, error) {
	b.used()
	return b.ReadCloser.Read(p)
}

// canceledBody is an answer's body, whose end is that of its stream.
type canceledBody struct {
	io.ReadCloser
	cancel context.CancelCauseFunc
}

// Close ends the stream.
func (b *canceledBody) Close() error {
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

// informed tells of answers of 1xx, but no more after stop.
type informed struct {
	mu        sync.Mutex
	onInterim func(status int, header http.Header)
}

func (i *informed) got(status int, header textproto.MIMEHeader) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.onInterim != nil {
		i.onInterim(status, http.Header(header))
	}
	return nil
}

func (i *informed) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.onInterim = nil
}
