package peer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

func TestEachProtocolReachesItsListener(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	cert := certificate(t, pool.host("host-2"))
	for l, name := range map[net.Listener]string{port.API(): "api", port.Peer(): "peer", port.Raft(): "raft", port.Join(): "join"} {
		servePreamble(l, name)
	}
	cases := []struct {
		name   string
		config *tls.Config
		want   string
	}{
		{"h2", clientConfig(nil, "h2"), "api"},
		{"http/1.1", clientConfig(nil, "http/1.1"), "api"},
		{"nothing", clientConfig(nil), "api"},
		{"TLS 1.2", &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}, "api"},
		{Peer, clientConfig(cert, Peer), "peer"},
		{Raft, clientConfig(cert, Raft), "raft"},
		{Join, clientConfig(nil, Join), "join"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			if got, err := readReply(t, port.Addr().String(), k.config, len(k.want)); got != k.want {
				t.Errorf("%q answers (%v)", got, err)
			}
		})
	}
	if _, err := tls.Dial("tcp", port.Addr().String(), clientConfig(cert, "spdy")); err == nil {
		t.Error("a protocol that nobody speaks here was agreed on")
	}
}

// net/http speaks HTTP/2 only on a *tls.Conn that says so.
func TestClientsOfTheAPIGetHTTP2(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) })}
	go server.Serve(port.API())
	defer server.Close()
	text, err := os.ReadFile(pool.first.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	for _, want := range []string{"HTTP/2.0", "HTTP/1.1"} {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: want == "HTTP/2.0"}
		response, err := (&http.Client{Transport: transport}).Get("https://" + port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(response.Body)
		response.Body.Close()
		transport.CloseIdleConnections()
		if string(got) != want {
			t.Errorf("speaks %s, want %s", got, want)
		}
	}
}

func TestAHostThatRunsNoRaftTurnsRaftAway(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	dialer := &Dialer{Identity: pool.host("host-2")}
	dial := func() error {
		c, err := dialer.Dial(t.Context(), Raft, port.Addr().String(), "")
		if err == nil {
			c.Close()
		}
		return err
	}
	if dial() == nil {
		t.Error("Raft was accepted before there was one")
	}
	l := port.Raft()
	servePreamble(l, "raft")
	if err := dial(); err != nil {
		t.Error(err)
	}
	l.Close()
	if dial() == nil {
		t.Error("Raft was accepted after it ended")
	}
	servePreamble(port.Raft(), "raft")
	if err := dial(); err != nil {
		t.Errorf("the second Raft: %v", err)
	}
}

func TestClosingThePortEndsListenersAndConnections(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	l := port.Peer()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}()
	c, err := (&Dialer{Identity: pool.host("host-2")}).Dial(t.Context(), Peer, port.Addr().String(), "host-1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	here := <-accepted
	if err := port.Close(); err != nil {
		t.Error(err)
	}
	for _, end := range []net.Conn{c, here} {
		if _, err := end.Read(make([]byte, 1)); err == nil {
			t.Error("a connection outlived the port")
		}
	}
	if _, err := l.Accept(); err == nil {
		t.Error("a listener outlived the port")
	}
	if _, err := port.Join().Accept(); err == nil {
		t.Error("a listener was opened on a closed port")
	}
}

func TestACallerThatHangsIsCutOffAndHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t)
		net := newFakeNetwork()
		port := Listen(net, pool.first, slog.New(slog.DiscardHandler))
		defer port.Close()
		servePreamble(port.Peer(), "peer")
		hanging, begin := net.call(), time.Now()

		dialer := &Dialer{Identity: pool.host("host-2"), connect: net.connect}
		c, err := dialer.Dial(t.Context(), Peer, "a:1", "host-1")
		if err != nil {
			t.Fatal(err)
		}
		word := make([]byte, 4)
		if _, err := io.ReadFull(c, word); err != nil || time.Since(begin) != 0 {
			t.Errorf("behind a hanging caller it took %v until %q was heard (%v)", time.Since(begin), word, err)
		}
		c.Close()
		if _, err := hanging.Read(word); err == nil || time.Since(begin) != handshakeTimeout {
			t.Errorf("cut off after %v (%v)", time.Since(begin), err)
		}
	})
}

// A connection that nobody accepts must not stay for ever.
func TestACallerThatNobodyAcceptsIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t)
		net := newFakeNetwork()
		port := Listen(net, pool.first, slog.New(slog.DiscardHandler))
		defer port.Close()
		defer port.Raft().Close()
		dialer := &Dialer{Identity: pool.host("host-2"), connect: net.connect}
		c, err := dialer.Dial(t.Context(), Raft, "a:1", "host-1")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		begin := time.Now()
		if _, err := c.Read(make([]byte, 1)); err == nil || time.Since(begin) != handshakeTimeout {
			t.Errorf("cut off after %v (%v)", time.Since(begin), err)
		}
	})
}

// A host that has proved nothing must not stay for ever either.
func TestAJoiningHostHasHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := newPool(t)
		network := newFakeNetwork()
		port := Listen(network, pool.first, slog.New(slog.DiscardHandler))
		defer port.Close()
		servePreamble(port.Join(), "join")
		begin := time.Now()
		c, err := dial(t.Context(), network.connect, "a:1", clientConfig(nil, Join))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); string(got) != "join" || time.Since(begin) != joinConnLifetime {
			t.Errorf("heard %q for %v (%v)", got, time.Since(begin), err)
		}
	})
}

// fakeNetwork is a net.Listener whose connections are pipes, for simulated time.
type fakeNetwork struct {
	calls  chan net.Conn
	closed chan struct{}
	frozen chan struct{} // closed: nothing that is sent arrives any more
}

func newFakeNetwork() *fakeNetwork {
	return &fakeNetwork{calls: make(chan net.Conn), closed: make(chan struct{}), frozen: make(chan struct{})}
}

func (n *fakeNetwork) Accept() (net.Conn, error) {
	select {
	case c := <-n.calls:
		return c, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

func (n *fakeNetwork) Close() error {
	close(n.closed)
	return nil
}

func (n *fakeNetwork) Addr() net.Addr { return Address("a:1") }

func (n *fakeNetwork) call() net.Conn {
	here, there := net.Pipe()
	n.calls <- &freezableConn{there, n.frozen}
	return &freezableConn{here, n.frozen}
}

func (n *fakeNetwork) connect(context.Context, string, string) (net.Conn, error) {
	return n.call(), nil
}

// freezableConn loses what is written to it once the network is frozen.
type freezableConn struct {
	net.Conn
	frozen chan struct{}
}

func (c *freezableConn) Write(p []byte) (int, error) {
	select {
	case <-c.frozen:
		return len(p), nil
	default:
		return c.Conn.Write(p)
	}
}
