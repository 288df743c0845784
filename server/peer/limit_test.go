package peer

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// Whoever opens connections without end keeps out only those from the same address, and hosts of the pool do not count.
func TestOneAddressHasSoManyConnections(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	port.mu.Lock()
	port.clients.mostPerAddress = 3
	port.mu.Unlock()
	servePreamble(port.API(), "api")
	servePreamble(port.Peer(), "peer")
	cert := certificate(t, pool.host("host-2"))
	open := func(config *tls.Config, want string) *tls.Conn {
		t.Helper()
		c, err := tls.Dial("tcp", port.Addr().String(), config)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		got := make([]byte, len(want))
		if _, err := c.Read(got); string(got) != want {
			t.Fatalf("%q answers, %v", got, err)
		}
		return c
	}
	for range 6 {
		open(clientConfig(cert, Peer), "peer")
	}
	first := open(clientConfig(nil), "api")
	open(clientConfig(nil), "api")
	raw, err := net.Dial("tcp", port.Addr().String()) // has not said a word
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	waitClients(t, port, 3)
	if c, err := tls.Dial("tcp", port.Addr().String(), clientConfig(nil)); err == nil {
		c.Close()
		t.Error("a fourth connection was accepted")
	}
	first.Close()
	waitClients(t, port, 2)
	open(clientConfig(nil), "api")
}

// A container shares the address of its host: whatever connections it holds, its host reaches the servers. So do the servers each other when
// addresses without number hold all connections of clients.
func TestNumbersOfClientsKeepNoHostOut(t *testing.T) {
	pool := newPool(t)
	port := listen(t, pool.first)
	port.mu.Lock()
	port.clients.mostPerAddress = 2
	port.mu.Unlock()
	servePreamble(port.Peer(), "peer")
	for range 2 + 2*maxReserved { // those that say nothing beyond the bound make room for one another
		raw, err := net.Dial("tcp", port.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
	}
	waitClients(t, port, 2)
	c, err := tls.Dial("tcp", port.Addr().String(), clientConfig(certificate(t, pool.host("host-2")), Peer))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got := make([]byte, len("peer"))
	if _, err := c.Read(got); string(got) != "peer" {
		t.Errorf("%q answers, %v", got, err)
	}
	port.mu.Lock()
	defer port.mu.Unlock()
	if waiting := len(port.reserved); waiting > maxReserved || port.clients.all != 2 {
		t.Errorf("%d wait beyond the bound, and %d clients count", waiting, port.clients.all)
	}
}

// waitClients waits until the port counts so many clients.
func waitClients(t *testing.T, port *Port, want int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for t.Context().Err() == nil {
		port.mu.Lock()
		all := port.clients.all
		port.mu.Unlock()
		if all == want {
			return
		}
		<-tick.C
	}
}
