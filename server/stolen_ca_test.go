package server

import (
	"crypto/tls"
	"net"
	"testing"
	"time"

	"pinion/server/id"
	"pinion/server/peer"
)

// Who has the key of the CA and stands where a server was is not taken for it by the hosts that call.
func TestNoHostCallsOneThatOnlyHasACertificate(t *testing.T) {
	r := newRights(t)
	authority := heldCA(t, r.server)
	forged := signedFor(t, r.server.cfg.HostID, &authority, time.Now())
	for name, c := range map[string]struct {
		from *testHost
		host string
	}{
		"a server an agent": {r.server, r.a.cfg.HostID}, "a server a made-up host": {r.server, id.New()}, "an agent the server": {r.a, r.server.cfg.HostID},
	} {
		member := c.from.member
		eventually(t, "the agent knows the servers' keys", func() bool { return member.poolCache.Key(r.server.cfg.HostID) != "" })
		dialer := &peer.Dialer{Identity: c.from.cfg.Identity, Authorize: member.auth.AuthorizeKey}
		cert := forged
		if c.host != r.server.cfg.HostID {
			cert = signedFor(t, c.host, &authority, time.Now())
		}
		address := answerWith(t, cert)
		if conn, err := dialer.Dial(t.Context(), peer.Peer, address, ""); err == nil {
			conn.Close()
			t.Errorf("%s: it is believed", name)
		}
		dialer.Authorize = nil
		if conn, err := dialer.Dial(t.Context(), peer.Peer, address, ""); err != nil {
			t.Errorf("%s: by the certificate alone it would not be believed, so this test shows nothing: %v", name, err)
		} else {
			conn.Close()
		}
	}
}

// answerWith listens with a certificate, does the handshakes, and says nothing.
func answerWith(t *testing.T, cert *tls.Certificate) (address string) {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{*cert}, NextProtos: []string{peer.Peer}, ClientAuth: tls.RequireAnyClientCert})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func(conn net.Conn) {
				_ = conn.(*tls.Conn).HandshakeContext(t.Context())
				conn.Close()
			}(conn)
		}
	}()
	return l.Addr().String()
}
