package peer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// A host that says nothing for this long is asked whether it is there, and cut off when it does not answer.
	pingInterval = 3 * time.Second
	pingTimeout  = 2 * time.Second
	// shutdownGrace is how long calls under way may take to notice that their context ended.
	shutdownGrace = time.Second
	// maxJoinBody is how much a host that has proved nothing may send.
	maxJoinBody = 64 << 10
)

type hostConnKey struct{}

// HostID is the id of the host that made the request, as its certificate says. It is empty on the join listener.
func HostID(ctx context.Context) string {
	if c, ok := ctx.Value(hostConnKey{}).(*hostConn); ok {
		return c.hostID
	}
	return ""
}

// CallerAddress is where the host that made the request called from; empty for a call that no connection brought.
func CallerAddress(ctx context.Context) string {
	if c, ok := ctx.Value(hostConnKey{}).(*hostConn); ok {
		return c.RemoteAddr().String()
	}
	return ""
}

// Certificate is that of the host that made the request, which was verified. It is nil on the join listener.
func Certificate(ctx context.Context) *x509.Certificate {
	if c, ok := ctx.Value(hostConnKey{}).(*hostConn); ok {
		return c.cert
	}
	return nil
}

// Serve answers the requests of other hosts on a Peer or Join listener until ctx is cancelled; the contexts of requests
// under way, streams too, end with it. Requests and answers may be read and written at the same time, for hours.
func Serve(ctx context.Context, l net.Listener, h http.Handler, log *slog.Logger) error {
	s := &http.Server{
		Handler: limitJoinBody(h), Protocols: new(http.Protocols), MaxHeaderBytes: 64 << 10, HTTP2: configHTTP2(l),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, hostConnKey{}, c)
		},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.Protocols.SetUnencryptedHTTP2(true) // under our own TLS: see hostConn
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		timeout, cancel := context.WithTimeout(context.Background(), shutdownGrace)
		defer cancel()
		if s.Shutdown(timeout) != nil {
			s.Close()
		}
	})
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		if stop() {
			s.Close()
			return fmt.Errorf("serving other hosts on %s: %w", l.Addr(), err)
		}
	}
	<-ended
	return nil
}

// What another host may send before it is read. A stream that nobody reads, such as the input of a command, must not keep the others of its connection
// from being sent.
const (
	streamBuffer = 256 << 10
	connBuffer   = 64 << 20
)

// configHTTP2 is how a listener speaks HTTP/2. Anybody may connect to that of joining hosts, so what is sent before it is read is little there.
func configHTTP2(l net.Listener) *http.HTTP2Config {
	config := &http.HTTP2Config{
		SendPingTimeout: 2 * pingInterval, PingTimeout: pingTimeout, WriteByteTimeout: 2 * pingInterval,
		MaxReceiveBufferPerConnection: connBuffer, MaxReceiveBufferPerStream: streamBuffer,
	}
	if of, is := l.(*protocolListener); is && of.protocol == Join {
		config.MaxConcurrentStreams = 16
		config.MaxReadFrameSize, config.MaxReceiveBufferPerConnection, config.MaxReceiveBufferPerStream = 16<<10, maxJoinBody, maxJoinBody
	}
	return config
}

func limitJoinBody(h http.Handler) http.Handler {
	joining := http.MaxBytesHandler(h, maxJoinBody)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if HostID(r.Context()) == "" {
			joining.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
