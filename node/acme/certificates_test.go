package acme_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	pebbleca "github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"

	"pinion/node/acme"
	"pinion/node/proxy"
	"pinion/raftfsm/spec"
	"pinion/raftfsm/traffic"
)

const site = "www.example.org"

// ca is a CA that speaks ACME: Pebble, that of Let's Encrypt for tests.
type ca struct {
	directory string
	server    *x509.CertPool // by which the server of ACME is known
	issued    *x509.CertPool // by which the certificates are known
}

// newCA starts a CA that finds every name at 127.0.0.1, and asks for challenges at the port.
func newCA(t *testing.T, port int) ca {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	quiet, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	authority := pebbleca.New(quiet, store, "", "ecdsa", 0, 1, map[string]pebbleca.Profile{"default": {Description: "default"}})
	validation := va.New(quiet, 0, port, false, newResolver(t), store)
	front := wfe.New(quiet, store, validation, authority, []string{"example.org"}, false, false, 0, 0)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	c := ca{directory: server.URL + wfe.DirectoryPath, server: x509.NewCertPool(), issued: x509.NewCertPool()}
	c.server.AddCert(server.Certificate())
	c.issued.AddCert(authority.GetRootCert(0).Cert)
	return c
}

// newResolver starts a DNS server, and returns its address.
func newResolver(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{Listener: listener, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		if q := question.Question[0]; q.Qtype == dns.TypeA {
			answer.Answer = []dns.RR{&dns.A{Hdr: dns.RR_Header{Name: q.Name, Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4(127, 0, 0, 1)}}
		}
		_ = w.WriteMsg(answer)
	})}
	go func() { _ = server.ActivateAndServe() }()
	t.Cleanup(func() { _ = server.Shutdown() })
	return listener.Addr().String()
}

// cache is what the hosts share. A host that misses a certificate is the only one that orders it.
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
	authority, together := newCA(t, port), &shared{values: map[string][]byte{}, orders: map[string]string{}, puts: map[string]int{}}
	newHost := func(name string) *acme.Certificates {
		return acme.New(acme.Config{Directory: authority.directory, Roots: authority.server, Cache: cache{together, name}, Log: slog.New(slog.DiscardHandler)})
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

	client, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{ServerName: site, RootCAs: authority.issued})
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
