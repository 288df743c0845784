package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"time"

	"pinion/server/pki"
)

// dialTimeout is how long another host may take until a connection to it stands. Hosts are near each other.
const dialTimeout = 2 * time.Second

// Dialer connects to other hosts of the pool. Its fields are set before it is used.
type Dialer struct {
	Identity *pki.Identity

	// Address is where a host is reached, empty when it is not known; the function may be nil. It lets URLs of HTTPClient
	// name hosts by their ids.
	Address func(hostID string) string
	// Trusts is why a host of the pool that was reached by an address may not answer, nil when it may; the function may be nil. A host
	// that was named by its id is asked for nothing more.
	Trusts func(hostID string) error

	// Authorize decides on a host that answers, as SetAuthorizer's on one that calls; nil authorizes all with a valid certificate.
	Authorize Authorizer

	connect connector // nil: TCP
}

// connector makes the connection that TLS then secures.
type connector func(ctx context.Context, network, address string) (net.Conn, error)

// Dial connects to a host of the pool at address ("host:port") to speak alpn. Nothing is sent to, and nothing read from,
// anyone who does not prove to be of the pool, and to be host wantHostID unless that is empty. It takes two seconds at
// most. A host that refuses this one says so only when something is read.
func (d *Dialer) Dial(ctx context.Context, alpn, address, wantHostID string) (net.Conn, error) {
	if _, err := d.Identity.Certificate(); err != nil {
		return nil, dialError(address, err)
	}
	return dial(ctx, d.connect, address, &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{alpn},
		GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return d.Identity.Certificate() },
		InsecureSkipVerify:   true, // by names, which mean nothing between hosts: verified by VerifyConnection
		VerifyConnection: func(state tls.ConnectionState) error {
			hostID, err := d.Identity.Verify(state.PeerCertificates, x509.ExtKeyUsageServerAuth)
			if err == nil && wantHostID != "" && hostID != wantHostID {
				err = fmt.Errorf("host %s answers there, not host %s", hostID, wantHostID)
			}
			if err == nil && d.Authorize != nil {
				err = d.Authorize(hostID, pki.PublicKeyHash(state.PeerCertificates[0]), alpn)
			}
			if err == nil && wantHostID == "" && d.Trusts != nil {
				err = d.Trusts(hostID)
			}
			return err
		},
	})
}

// dial's errors are *net.OpError with Op "dial": nothing was sent.
func dial(ctx context.Context, connect connector, address string, config *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	if connect == nil {
		connect = new(net.Dialer).DialContext
	}
	raw, err := connect(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	secured := tls.Client(raw, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, dialError(address, err)
	}
	return secured, nil
}

func dialError(address string, err error) error {
	return &net.OpError{Op: "dial", Net: "tcp", Addr: Address(address), Err: err}
}

// Address is a "host:port" as a net.Addr.
type Address string

// Network is always "tcp".
func (a Address) Network() string { return "tcp" }

// String is the address itself.
func (a Address) String() string { return string(a) }
