package peer

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"pinion/server/pki"
)

// idleTimeout is how long a connection that nobody uses is kept.
const idleTimeout = time.Minute

// HTTPClient speaks HTTP/2 with the Peer listeners of other hosts, over one connection for each that notices within
// five seconds when the other end is gone. URLs are https with the "host:port" of a host, or the id of one that Address
// knows, which then must answer. Redirects are not followed; there is no timeout but the requests' contexts.
//
// Each client has connections of its own: a host needs one, and CloseIdleConnections at its end.
func (d *Dialer) HTTPClient() *http.Client {
	return newHTTP2Client(func(ctx context.Context, _, address string) (net.Conn, error) {
		if hostID, _, err := net.SplitHostPort(address); err == nil && d.Address != nil {
			if known := d.Address(hostID); known != "" {
				return d.Dial(ctx, Peer, known, hostID)
			}
		}
		return d.Dial(ctx, Peer, address, "")
	})
}

// JoinClient speaks HTTP/2 with the Join listener of a pool that this host knows nothing of but the beginning of its
// authority's fingerprint (16 to 32 bytes of the SHA-256). The server's certificate is checked against it before
// anything is sent; errors then wrap ErrOtherPool. now is nil for time.Now, and trusts is Dialer.Trusts.
func JoinClient(fingerprint []byte, now func() time.Time, trusts func(hostID string) error) *http.Client {
	if now == nil {
		now = time.Now
	}
	return newHTTP2Client(func(ctx context.Context, _, address string) (net.Conn, error) {
		return dial(ctx, nil, address, &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{Join},
			InsecureSkipVerify: true, // by names and roots that are not known yet: verified by VerifyConnection
			VerifyConnection: func(state tls.ConnectionState) error {
				hostID, err := pki.VerifyFingerprint(state.PeerCertificates, fingerprint, now())
				if err == nil && trusts != nil {
					err = trusts(hostID)
				}
				return err
			},
		})
	})
}

// JoinClientIgnoringExpiry is JoinClient for a host that does not know what time it is: when the server's certificate is valid does
// not count.
func JoinClientIgnoringExpiry(fingerprint []byte) *http.Client {
	return newHTTP2Client(func(ctx context.Context, _, address string) (net.Conn, error) {
		return dial(ctx, nil, address, &tls.Config{
			MinVersion: tls.VersionTLS13, NextProtos: []string{Join},
			InsecureSkipVerify: true, // as in JoinClient
			VerifyConnection: func(state tls.ConnectionState) error {
				_, err := pki.VerifyFingerprint(state.PeerCertificates, fingerprint, state.PeerCertificates[0].NotBefore)
				return err
			},
		})
	})
}

// newHTTP2Client makes an HTTP/2 client over connections that are secured already.
func newHTTP2Client(dial connector) *http.Client {
	t := &http.Transport{
		DialContext: dial, Protocols: new(http.Protocols), DisableCompression: true, IdleConnTimeout: idleTimeout,
		HTTP2: &http.HTTP2Config{SendPingTimeout: pingInterval, PingTimeout: pingTimeout, WriteByteTimeout: pingInterval + pingTimeout, MaxReceiveBufferPerStream: streamBuffer},
	}
	t.Protocols.SetUnencryptedHTTP2(true) // over our own TLS
	return &http.Client{
		Transport:     tlsTransport{t},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// tlsTransport takes https URLs, while the transport under it is not to add TLS of its own.
type tlsTransport struct{ *http.Transport }

// RoundTrip sends the request as it is but for the scheme.
func (t tlsTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	plain, address := *r, *r.URL
	address.Scheme = "http"
	plain.URL = &address
	return t.Transport.RoundTrip(&plain)
}
