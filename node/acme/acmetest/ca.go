// Package acmetest has a CA that speaks ACME, for tests.
package acmetest

import (
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http/httptest"
	"testing"

	pebbleca "github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
	"github.com/miekg/dns"
)

// CA is Pebble, the CA of Let's Encrypt for tests.
type CA struct {
	Directory string
	Server    *x509.CertPool // by which the server of ACME is known
	Issued    *x509.CertPool // by which the certificates are known
}

// New starts a CA that finds every name at 127.0.0.1, and asks for challenges at the port, until the test ends.
func New(t *testing.T, port int) CA {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	quiet, store := log.New(io.Discard, "", 0), db.NewMemoryStore()
	authority := pebbleca.New(quiet, store, "", "ecdsa", 0, 1, map[string]pebbleca.Profile{"default": {Description: "default"}})
	validation := va.New(quiet, 0, port, false, newResolver(t), store)
	front := wfe.New(quiet, store, validation, authority, []string{"example.org"}, false, false, 0, 0)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)
	c := CA{Directory: server.URL + wfe.DirectoryPath, Server: x509.NewCertPool(), Issued: x509.NewCertPool()}
	c.Server.AddCert(server.Certificate())
	c.Issued.AddCert(authority.GetRootCert(0).Cert)
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
