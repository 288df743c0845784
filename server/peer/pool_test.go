package peer

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pinion/server/pki"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pool is a pool's authority, from which tests make hosts.
type pool struct {
	t         *testing.T
	first     *pki.Identity // of host-1
	authority pki.CA
}

func newPool(t *testing.T) *pool {
	t.Helper()
	first, err := pki.Open(filepath.Join(t.TempDir(), "pki"), "host-1", nil)
	if err != nil {
		t.Fatal(err)
	}
	authority, _ := first.CA()
	return &pool{t, first, authority}
}

// host is another host of the pool, which joined it now.
func (p *pool) host(hostID string) *pki.Identity {
	p.t.Helper()
	id, err := pki.OpenJoining(filepath.Join(p.t.TempDir(), "pki"), hostID, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	csr, err := id.NewRequest()
	if err != nil {
		p.t.Fatal(err)
	}
	cert, err := pki.Sign(p.authority, csr, hostID, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := id.Install(cert, p.authority.Certificate); err != nil {
		p.t.Fatal(err)
	}
	return id
}

// expired is a host's certificate that ended ten days ago.
func (p *pool) expired(hostID string) *tls.Certificate {
	p.t.Helper()
	key := newKey(p.t)
	raw, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		p.t.Fatal(err)
	}
	csr := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: raw})
	cert, err := pki.Sign(p.authority, csr, hostID, time.Now().Add(-40*24*time.Hour))
	if err != nil {
		p.t.Fatal(err)
	}
	block, _ := pem.Decode(cert)
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

func certificate(t *testing.T, id *pki.Identity) *tls.Certificate {
	t.Helper()
	cert, err := id.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// listen is a port of a host, on loopback.
func listen(t *testing.T, id *pki.Identity) *Port {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Listen(l, id, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { p.Close() })
	return p
}

// servePreamble says word to everyone who is let in, and keeps the connection until the other end or the port closes it.
func servePreamble(l net.Listener, word string) {
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, word)
				_, _ = io.Copy(io.Discard, c)
			}()
		}
	}()
}

// readReply connects, sends a word, and reads all that comes until the preamble is complete or the connection ends.
func readReply(t *testing.T, address string, config *tls.Config, want int) (string, error) {
	t.Helper()
	c, err := tls.Dial("tcp", address, config)
	if err != nil {
		return "", err
	}
	defer c.Close()
	_, _ = io.WriteString(c, "let me in")
	got := make([]byte, want)
	n, err := io.ReadFull(c, got)
	return string(got[:n]), err
}

// clientConfig is a client's side of TLS that trusts everybody and shows this certificate, nil for none.
func clientConfig(cert *tls.Certificate, alpn ...string) *tls.Config {
	config := &tls.Config{InsecureSkipVerify: true, NextProtos: alpn}
	if cert != nil {
		config.Certificates = []tls.Certificate{*cert}
	}
	return config
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// selfSigned has the same names as the certificate, and another key that it is signed with.
func selfSigned(t *testing.T, like *x509.Certificate) *tls.Certificate {
	t.Helper()
	key := newKey(t)
	copied := *like
	copied.PublicKey, copied.AuthorityKeyId, copied.SignatureAlgorithm = nil, nil, x509.UnknownSignatureAlgorithm
	raw, err := x509.CreateCertificate(rand.Reader, &copied, &copied, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}
}
