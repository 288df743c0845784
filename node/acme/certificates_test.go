package acme_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"pinion/node/acme"
	"pinion/node/acme/acmetest"
	"pinion/node/proxy"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

const site = "www.example.org"

// cache is the storage that the hosts share. A host that misses a certificate is the only one that orders it.
type cache struct {
	*shared
	host string
}

type shared struct {
	mu     sync.Mutex
	values map[string][]byte
	orders map[string]string // host by key
	puts   map[string]int
}

func (c cache) Get(_ context.Context, key string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if value, is := c.values[key]; is {
		return value, nil
	}
	if key != "acme_account+key" && strings.TrimSuffix(key, "+token") != site {
		return nil, errors.New("no listener has the certificate " + key) // as the leader answers
	}
	if key == site && c.orders[key] != "" && c.orders[key] != c.host {
		return nil, spec.Unavailable("another host orders it")
	}
	c.orders[key] = c.host
	return nil, spec.ErrNotFound
}

func (c cache) Put(_ context.Context, key string, value []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values[key] = value
	c.puts[key]++
	return nil
}

func (c cache) Delete(_ context.Context, key string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.values, key)
	return nil
}

func run(t *testing.T, c *acme.Certificates) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
}

func waitReady(t *testing.T, c *acme.Certificates) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // reached only on a failure
	defer cancel()
	for c.Problem(site) != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal(c.Problem(site))
		}
	}
}

// One host orders the certificate, and the CA asks another for the answer to its challenge: clients of both get it.
func TestAHostAnswersForTheCertificateThatAnotherOrders(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	authority, together := acmetest.New(t, port), &shared{values: map[string][]byte{}, orders: map[string]string{}, puts: map[string]int{}}
	newHost := func(name string) *acme.Certificates {
		return acme.New(acme.Config{Directory: authority.Directory, Roots: authority.Server, Cache: cache{together, name}, Log: slog.New(slog.DiscardHandler)})
	}
	asked, orders := newHost("asked"), newHost("orders")
	front := proxy.New(proxy.Config{Address: "127.0.0.1:7400", ACME: asked, Log: slog.New(slog.DiscardHandler),
		Listen: func(int) (net.Listener, error) { return listener, nil }})
	t.Cleanup(func() { front.Close(t.Context()) })
	problems := front.Apply(traffic.Routing{Listeners: []traffic.Listener{{ID: "l", Port: port, Protocol: traffic.HTTPS, Certificates: []string{"acme/" + site},
		Rules: []traffic.Rule{{ID: "r", Action: traffic.Action{FixedResponse: &traffic.FixedResponse{StatusCode: 204}}}}}}})
	if err := problems["l"]; err == nil || !strings.Contains(err.Error(), site) {
		t.Errorf("a listener whose certificate is not there: %v", err)
	}

	orders.SetNames([]string{site})
	run(t, orders)
	waitReady(t, orders)
	run(t, asked)
	waitReady(t, asked)

	client, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{ServerName: site, RootCAs: authority.Issued})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got := client.ConnectionState().PeerCertificates[0].DNSNames; fmt.Sprint(got) != "["+site+"]" {
		t.Errorf("the certificate is for %v", got)
	}
	if together.puts[site] != 1 || together.values[site+"+token"] != nil {
		t.Errorf("puts of each key: %v", together.puts)
	}
	for _, protocols := range [][]string{nil, {"acme-tls/1"}} {
		if _, err := asked.Certificate(&tls.ClientHelloInfo{ServerName: "other.example.org", SupportedProtos: protocols}); err == nil {
			t.Error("a certificate for a name of no listener")
		}
	}
	old := &tls.ClientHelloInfo{ServerName: site, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_CBC_SHA}}
	if got, err := asked.Certificate(old); err != nil || got.Leaf.DNSNames[0] != site || len(together.puts) != 3 {
		t.Errorf("a stranger who knows RSA alone has another certificate ordered: %v, puts of each key: %v", err, together.puts)
	}
}

// A CA that cannot be reached is asked again later, and the listener says so.
func TestAnOrderThatFailedIsSaid(t *testing.T) {
	c := acme.New(acme.Config{Directory: "https://127.0.0.1:1/", Cache: cache{&shared{values: map[string][]byte{}, orders: map[string]string{}, puts: map[string]int{}}, "a"},
		Log: slog.New(slog.DiscardHandler)})
	c.SetNames([]string{site})
	run(t, c)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !strings.Contains(fmt.Sprint(c.Problem(site)), "tried again at") {
		<-tick.C
	}
	c.SetNames(nil)
	if err := c.Problem(site); err == nil || !strings.Contains(err.Error(), "no listener") {
		t.Errorf("a name that is gone: %v", err)
	}
}
