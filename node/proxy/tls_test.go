package proxy_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pinion/node/proxy"
	"pinion/raftfsm/traffic"
)

// writeCertificate makes NAME.crt and NAME.key, for the host.
func writeCertificate(t *testing.T, directory, name, host string, serial int64) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for end, block := range map[string]*pem.Block{".crt": {Type: "CERTIFICATE", Bytes: raw}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(directory, name+end), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// secure is a listener of a protocol in front of a group, with the certificates of a directory.
func secure(t *testing.T, protocol traffic.Protocol, directory string, names ...string) *site {
	s := newSite(t, func(c *proxy.Config) { c.Certificates = directory })
	l := listener(443, protocol, forward("web"))
	l.Certificates = names
	g := group("web", s.server(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Forwarded-Proto")+" "+r.Proto)
	}))
	s.apply(traffic.Routing{Listeners: []traffic.Listener{l}, Groups: []traffic.Group{g}})
	return s
}

// shown is the certificate that a client who asks for a name gets.
func (s *site) shown(name string) *x509.Certificate {
	s.Helper()
	conn, err := tls.Dial("tcp", s.address(443), &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		s.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

func TestTheNameThatAClientAsksForChoosesTheCertificate(t *testing.T) {
	directory := t.TempDir()
	writeCertificate(t, directory, "first", "first.test", 1)
	writeCertificate(t, directory, "second", "*.second.test", 2)
	s := secure(t, traffic.HTTPS, directory, "first", "second")
	for name, want := range map[string]string{"first.test": "first.test", "a.second.test": "*.second.test", "other.test": "first.test", "": "first.test"} {
		if got := s.shown(name).Subject.CommonName; got != want {
			t.Errorf("%q gets %s, want %s", name, got, want)
		}
	}
}

func TestACertificateThatChangedIsUsedAndABadOneIsNot(t *testing.T) {
	directory := t.TempDir()
	writeCertificate(t, directory, "web", "web.test", 1)
	s := secure(t, traffic.HTTPS, directory, "web")
	writeCertificate(t, directory, "web", "web.test", 2)
	s.eventually(func() bool { return s.shown("web.test").SerialNumber.Int64() == 2 })
	if err := os.WriteFile(filepath.Join(directory, "web.key"), []byte("half a ke"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.shown("web.test")
	writeCertificate(t, directory, "web", "web.test", 3)
	s.eventually(func() bool { return s.shown("web.test").SerialNumber.Int64() == 3 })
}

func TestHTTPSSpeaksBothVersions(t *testing.T) {
	directory := t.TempDir()
	writeCertificate(t, directory, "web", "web.test", 1)
	s := secure(t, traffic.HTTPS, directory, "web")
	for _, http2 := range []bool{false, true} {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!http2)
		protocols.SetHTTP2(http2)
		client := http.Client{Transport: &http.Transport{Protocols: protocols, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
		answer, err := client.Get("https://" + s.address(443))
		if err != nil {
			t.Fatal(err)
		}
		if body := read(t, answer.Body); body != "https HTTP/1.1" || (answer.ProtoMajor == 2) != http2 {
			t.Errorf("%q over %s", body, answer.Proto)
		}
		client.CloseIdleConnections()
	}
}

func TestTLSIsEndedInFrontOfTCP(t *testing.T) {
	directory := t.TempDir()
	writeCertificate(t, directory, "db", "db.test", 1)
	s := newSite(t, func(c *proxy.Config) { c.Certificates = directory })
	routing := overTCP(group("db", s.tcpServer(func(c net.Conn) {
		all, _ := io.ReadAll(c)
		_, _ = io.WriteString(c, strings.ToUpper(string(all)))
	})))
	routing.Listeners[0].Protocol, routing.Listeners[0].Certificates = traffic.TLS, []string{"db"}
	s.apply(routing)
	conn, err := tls.Dial("tcp", s.address(90), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, "secret")
	_ = conn.CloseWrite()
	if all, err := io.ReadAll(conn); string(all) != "SECRET" || err != nil {
		t.Errorf("%q, %v", all, err)
	}
}

func TestANameOfACertificateIsNoPath(t *testing.T) {
	s := newSite(t, func(c *proxy.Config) { c.Certificates = t.TempDir() })
	for _, name := range []string{"../web", "a/b", "", ".", "..", ".hidden", "missing"} {
		l := listener(443, traffic.HTTPS, forward("web"))
		l.Certificates = []string{name}
		problems := s.Apply(traffic.Routing{Listeners: []traffic.Listener{l}, Groups: []traffic.Group{group("web")}})
		if len(problems) != 1 {
			t.Errorf("%q is taken", name)
		}
	}
}
