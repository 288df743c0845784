package peer

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
)

func TestWhoIsNotOfThePoolReadsNothingAndIsHeardByNobody(t *testing.T) {
	here, elsewhere := newPool(t), newPool(t)
	port := listen(t, here.first)
	port.SetAuthorizer(func(hostID, _, _ string) error { return refuseIf(hostID == "removed") })
	good, other := certificate(t, here.host("host-2")), certificate(t, here.host("host-3"))
	foreign := certificate(t, elsewhere.host("host-2"))
	callers := map[string]*tls.Certificate{
		"no certificate":                               nil,
		"a certificate of another authority":           foreign,
		"another authority's behind which ours stands": {Certificate: append([][]byte{foreign.Certificate[0]}, good.Certificate[1:]...), PrivateKey: foreign.PrivateKey},
		"its own signature under a host's names":       selfSigned(t, good.Leaf),
		"another host's certificate without its key":   {Certificate: other.Certificate, PrivateKey: good.PrivateKey},
		"an expired certificate":                       here.expired("host-2"),
		"a removed host":                               certificate(t, here.host("removed")),
		"the authority itself":                         {Certificate: good.Certificate[1:], PrivateKey: good.PrivateKey},
	}
	for alpn, l := range map[string]net.Listener{Peer: port.Peer(), Raft: port.Raft()} {
		var heard atomic.Int64
		servePreambleCounting(l, &heard)
		for name, cert := range callers {
			t.Run(alpn+" "+name, func(t *testing.T) {
				if got, err := readReply(t, port.Addr().String(), clientConfig(cert, alpn), 7); err == nil || got != "" {
					t.Errorf("read %q (%v)", got, err)
				}
			})
		}
		t.Run(alpn+" TLS 1.2", func(t *testing.T) {
			config := clientConfig(good, alpn)
			config.MaxVersion = tls.VersionTLS12
			if got, err := readReply(t, port.Addr().String(), config, 7); err == nil || got != "" {
				t.Errorf("read %q (%v)", got, err)
			}
		})
		if n := heard.Load(); n != 0 {
			t.Errorf("%d of them were let in", n)
		}
		if got, err := readReply(t, port.Addr().String(), clientConfig(good, alpn), 7); got != "welcome" {
			t.Errorf("a good host hears %q (%v)", got, err)
		}
	}
}

func refuseIf(refuse bool) error {
	if refuse {
		return errors.New("not this host")
	}
	return nil
}

func TestAHostCanBeLetInForOneThingAndNotForAnother(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	port.SetAuthorizer(func(_, _, speaks string) error { return refuseIf(speaks == Raft) })
	servePreamble(port.Peer(), "welcome")
	servePreamble(port.Raft(), "welcome")
	agent := certificate(t, pool.host("host-2"))
	if got, err := readReply(t, port.Addr().String(), clientConfig(agent, Peer), 7); got != "welcome" {
		t.Errorf("as a peer it hears %q (%v)", got, err)
	}
	if got, err := readReply(t, port.Addr().String(), clientConfig(agent, Raft), 7); got != "" || err == nil {
		t.Errorf("Raft's listener tells it %q (%v)", got, err)
	}
}

func servePreambleCounting(l net.Listener, heard *atomic.Int64) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			heard.Add(1)
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, "welcome")
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
}

// The rules of a protocol between hosts hold whatever else is offered, and no session of a client is a way around them.
func TestNoOfferAndNoSessionGoesAroundTheCertificate(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	servePreamble(port.API(), "api")
	servePreamble(port.Peer(), "welcome")
	for _, offer := range [][]string{{"h2", Peer}, {Peer, "h2"}, {Join, Peer}} {
		if got, err := readReply(t, port.Addr().String(), clientConfig(nil, offer...), 7); got != "" {
			t.Errorf("who offers %q hears %q (%v)", offer, got, err)
		}
	}
	sessions := tls.NewLRUClientSessionCache(8)
	for _, alpn := range []string{"h2", Peer} {
		config := clientConfig(nil, alpn)
		config.ClientSessionCache, config.ServerName = sessions, "pinion"
		got, err := readReply(t, port.Addr().String(), config, 3)
		if (got == "api") != (alpn == "h2") {
			t.Errorf("%s hears %q (%v)", alpn, got, err)
		}
	}
}

func TestRemovingAHostEndsItsConnectionsAndKeepsItOut(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	var removed atomic.Bool
	port.SetAuthorizer(func(hostID, _, _ string) error { return refuseIf(hostID == "host-2" && removed.Load()) })
	servePreamble(port.Peer(), "welcome")
	servePreamble(port.Raft(), "welcome")
	connect := func(hostID, alpn string) *tls.Conn {
		c, err := tls.Dial("tcp", port.Addr().String(), clientConfig(certificate(t, pool.host(hostID)), alpn))
		if err == nil {
			_, err = io.ReadFull(c, make([]byte, 7))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	bad := []*tls.Conn{connect("host-2", Peer), connect("host-2", Raft), connect("host-2", Peer)}
	good := connect("host-3", Peer)
	removed.Store(true)
	port.CloseHost("host-2")
	for _, c := range bad {
		if _, err := c.Read(make([]byte, 1)); err == nil {
			t.Error("a connection of the removed host lives")
		}
	}
	if got, err := readReply(t, port.Addr().String(), clientConfig(certificate(t, pool.host("host-2")), Peer), 7); err == nil {
		t.Errorf("the removed host came back and heard %q", got)
	}
	if _, err := io.WriteString(good, "still here"); err != nil {
		t.Error(err)
	}
	if live := port.connsOf(func(of string) bool { return of == "host-3" }); len(live) != 1 {
		t.Errorf("%d connections of the other host live", len(live))
	}
}

// The one who dials is as careful: an address can be anybody's.
func TestADialerSpeaksOnlyToTheHostThatItWants(t *testing.T) {
	pool, elsewhere := newPool(t), newPool(t)
	dialer := &Dialer{Identity: pool.host("host-2")}
	mine, foreign := listen(t, pool.first), listen(t, elsewhere.first)
	servePreamble(mine.Peer(), "welcome")
	servePreamble(foreign.Peer(), "welcome")
	cases := []struct {
		name string
		port *Port
		want string
		good bool
	}{
		{"the host", mine, "host-1", true},
		{"any host of the pool", mine, "", true},
		{"another host of the pool", mine, "host-3", false},
		{"a host of another pool", foreign, "", false},
	}
	for _, k := range cases {
		c, err := dialer.Dial(t.Context(), Peer, k.port.Addr().String(), k.want)
		if (err == nil) != k.good {
			t.Errorf("%s: %v", k.name, err)
		}
		if err == nil {
			c.Close()
		}
	}
}
