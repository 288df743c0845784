package containerd_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"pinion/node/containerd"
)

// A registry that is not who it says it is serves no image, and what it says in the handshake ends the pull in time.
func TestARegistryWithoutATrustedCertificateServesNothing(t *testing.T) {
	h := newHost(t, func(c *containerd.Config) { c.ConnectTimeout, c.StallTimeout = 300*time.Millisecond, time.Second })
	now := time.Now()
	for i, c := range []struct {
		name string
		tls  *tls.Config // nil: none
	}{
		{"of nobody", &tls.Config{Certificates: certificate(t, "127.0.0.1", now.Add(time.Hour))}},
		{"of another host", &tls.Config{Certificates: certificate(t, "192.0.2.1", now.Add(time.Hour))}},
		{"of last year", &tls.Config{Certificates: certificate(t, "127.0.0.1", now.Add(-time.Hour))}},
		{"with TLS of 1999", &tls.Config{Certificates: certificate(t, "127.0.0.1", now.Add(time.Hour)), MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10}},
		{"without TLS", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(newOrigin(mathrand.New(mathrand.NewPCG(1, uint64(i)))))
			server.Config.ErrorLog = log.New(io.Discard, "", 0)
			addr := server.Listener.Addr().String()
			if server.TLS = c.tls; c.tls != nil {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			h.refuseTLS(t, fmt.Sprintf("tls%d.example", i), addr)
		})
	}
	t.Run("that never comes", func(t *testing.T) { h.refuseTLS(t, "silent.example", silentServer(t)) })
}

// refuseTLS makes addr the server of a registry with that name, and pulls from it.
func (h *host) refuseTLS(t *testing.T, name, addr string) {
	t.Helper()
	h.configureRegistry("certs.d/"+name+"/hosts.toml", fmt.Sprintf("server = \"https://%s\"\n", addr))
	_, err := h.runtime.Pull(h.ctx(), name+"/app:1", nil)
	if err == nil || !strings.Contains(err.Error(), name+"/app:1") {
		t.Errorf("it answers %v", err)
	}
	t.Log(err)
}

func certificate(t *testing.T, address string, until time.Time) []tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.Add(-24 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.ParseIP(address)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
}
