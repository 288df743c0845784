package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"pinion/server/pki"
)

// joinConnLifetime bounds a connection of a host without a certificate.
const joinConnLifetime = 30 * time.Second

// serveConn does the handshake of a connection and delivers it to the listener of its protocol.
func (p *Port) serveConn(raw net.Conn) {
	c := p.track(raw)
	if c == nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, handshakeTimeout)
	defer cancel()
	if err := p.handshake(ctx, c); err != nil {
		p.log.Debug("a connection was turned away", "from", raw.RemoteAddr(), "reason", err)
		p.reportRefused(c, err)
		c.Close()
	}
}

func (p *Port) handshake(ctx context.Context, c *conn) error {
	secured := tls.Server(c, p.config(c))
	if err := secured.HandshakeContext(ctx); err != nil {
		return err
	}
	to, protocol := net.Conn(secured), secured.ConnectionState().NegotiatedProtocol
	switch protocol {
	case Peer, Raft:
		hostID, err := p.authorize(c, protocol, secured.ConnectionState())
		if err != nil {
			return err
		}
		to = &hostConn{secured, hostID, secured.ConnectionState().PeerCertificates[0]}
	case Join:
		time.AfterFunc(joinConnLifetime, func() { c.Close() })
		to = &hostConn{Conn: secured}
	default:
		protocol = api
	}
	if d := p.listenerFor(protocol); d == nil || !d.deliver(ctx, to) {
		return fmt.Errorf("%w: %q", errNobody, protocol)
	}
	return nil
}

// errTooMany refuses a client.
var errTooMany = errors.New("there are too many connections of clients, or of clients at this address")

// errNobody refuses a protocol whose listener is not open.
var errNobody = errors.New("nobody accepts this protocol here")

// authorize asks once more whether the host may connect: it may have been removed during the handshake, before CloseHost
// could know of this connection.
func (p *Port) authorize(c *conn, protocol string, state tls.ConnectionState) (hostID string, err error) {
	if hostID, err = pki.HostOf(state.PeerCertificates[0]); err != nil {
		return "", err
	}
	if err := p.setHost(c, hostID); err != nil {
		return "", err
	}
	return hostID, p.checkAdmitted(hostID, protocol, state.PeerCertificates[0])
}

// config returns the TLS configuration of a connection, for clients. A caller that offers a protocol of hosts gets only that protocol, with its
// rules.
func (p *Port) config(c *conn) *tls.Config {
	config := p.identity.ServerTLS()
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		speaks := api
		for _, offered := range hello.SupportedProtos {
			if slices.Contains([]string{Peer, Raft, Join}, offered) {
				speaks = offered
				break
			}
		}
		c.protocol = speaks
		if p.listenerFor(speaks) == nil {
			return nil, fmt.Errorf("%w: %q", errNobody, speaks)
		}
		if err := p.checkReserved(c); err != nil {
			return nil, err
		}
		return p.configFor(c, speaks), nil
	}
	return config
}

// configFor is nil, which means config itself, for clients. Sessions between hosts are never resumed: every connection
// shows its certificate.
func (p *Port) configFor(c *conn, protocol string) *tls.Config {
	if protocol == api {
		return nil
	}
	config := p.identity.ServerTLS()
	config.MinVersion, config.NextProtos, config.SessionTicketsDisabled = tls.VersionTLS13, []string{protocol}, true
	config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.identity.Certificate() }
	if protocol != Join {
		config.ClientAuth = tls.RequireAnyClientCert
		config.VerifyConnection = func(state tls.ConnectionState) error { return p.verify(c, protocol, state) }
	}
	return config
}

func (p *Port) verify(c *conn, protocol string, state tls.ConnectionState) error {
	c.claimed, _ = pki.HostOf(state.PeerCertificates[0])
	hostID, err := p.identity.Verify(state.PeerCertificates, x509.ExtKeyUsageClientAuth)
	if err != nil {
		return err
	}
	return p.checkAdmitted(hostID, protocol, state.PeerCertificates[0])
}
