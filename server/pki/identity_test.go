package pki

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var day0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clock is a time that tests move.
type clock struct{ now time.Time }

func (c *clock) options() Options { return Options{Now: func() time.Time { return c.now }} }

func open(t *testing.T, dir string, c *clock, names ...string) *Identity {
	t.Helper()
	id, err := OpenWith(dir, "host-1", names, c.options())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// shownCert is the certificate that a client would see now.
func shownCert(t *testing.T, id *Identity) *x509.Certificate {
	t.Helper()
	cert, err := id.ServerTLS().GetCertificate(nil)
	if err != nil {
		t.Fatal(err)
	}
	return cert.Leaf
}

func TestAClientThatTrustsTheCAFileTalksToTheHost(t *testing.T) {
	id, err := Open(filepath.Join(t.TempDir(), "pki"), "host-1", []string{"gpu1.example", "10.0.0.7"})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", id.ServerTLS())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go completeHandshakes(listener)

	text, err := os.ReadFile(id.CAFile())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatal("the CA file holds no certificate")
	}
	for _, name := range []string{"gpu1.example", "10.0.0.7", "127.0.0.1", "::1", "localhost", "pinion"} {
		conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: name, NextProtos: []string{"h2"}})
		if err != nil {
			t.Errorf("as %s: %v", name, err)
			continue
		}
		if got := conn.ConnectionState().NegotiatedProtocol; got != "h2" {
			t.Errorf("as %s: speaks %q", name, got)
		}
		conn.Close()
	}
	if _, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "other"}); err == nil {
		t.Error("the certificate is good for a name that is not the host's")
	}
}

// completeHandshakes completes the handshake of everyone who calls, until the listener is closed.
func completeHandshakes(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			conn.(*tls.Conn).Handshake()
			conn.Read(make([]byte, 1)) // until the caller hangs up
		}()
	}
}

func TestARestartShowsTheSameCertificate(t *testing.T) {
	dir, c := t.TempDir(), &clock{day0}
	first := shownCert(t, open(t, dir, c, "a", "10.0.0.1"))
	if again := shownCert(t, open(t, dir, c, "10.0.0.1", "a", "a")); !again.Equal(first) {
		t.Error("a restart issued another certificate")
	}
}

func TestTheCertificateIsRenewedBetweenHalfAndFourFifthsOfItsLife(t *testing.T) {
	c := &clock{day0}
	id := open(t, t.TempDir(), c)
	first := shownCert(t, id)
	c.now = day0.Add(hostCertLifetime/2 - 2*time.Hour)
	if !shownCert(t, id).Equal(first) {
		t.Error("renewed in the first half of its life")
	}
	c.now = day0.Add(hostCertLifetime * 8 / 10)
	second := shownCert(t, id)
	if second.Equal(first) || !second.NotAfter.Equal(c.now.Add(hostCertLifetime).Truncate(time.Second)) {
		t.Errorf("at 80%% of its life the certificate ends %v", second.NotAfter)
	}
	if again := shownCert(t, open(t, id.dir, c)); !again.Equal(second) {
		t.Error("the renewed certificate was not written down")
	}
}

func TestNewNamesGetANewCertificateAtOnce(t *testing.T) {
	dir, c := t.TempDir(), &clock{day0}
	id := open(t, dir, c, "old")
	if err := id.SetNames([]string{"new", "fd00::1"}); err != nil {
		t.Fatal(err)
	}
	names := NamesOf(shownCert(t, id))
	if !slices.Contains(names, "new") || !slices.Contains(names, "fd00::1") || slices.Contains(names, "old") {
		t.Errorf("the certificate is for %q", names)
	}
	if got := NamesOf(shownCert(t, open(t, dir, c, "third"))); !slices.Contains(got, "third") {
		t.Errorf("after a restart with another name it is for %q", got)
	}
}

func TestAHostThatWasOffForMonthsGetsANewCertificate(t *testing.T) {
	dir, c := t.TempDir(), &clock{day0}
	ca := open(t, dir, c).roots.newest
	c.now = day0.AddDate(0, 6, 0)
	id := open(t, dir, c)
	if !id.roots.newest.Equal(ca) || c.now.After(shownCert(t, id).NotAfter) {
		t.Error("no valid certificate from the same authority")
	}
}

func TestFilesThatCannotBeUsedAreRefusedAndKept(t *testing.T) {
	cases := []struct {
		name, file string
		change     func(t *testing.T, path string, c *clock)
		says       string
	}{
		{"damaged authority", "ca.pem", scramble, "put back a backup"},
		{"empty authority", "ca.pem", truncate, "does not hold a certificate and a key"},
		{"expired authority", "ca.pem", func(_ *testing.T, _ string, c *clock) { c.now = day0.AddDate(11, 0, 0) }, "expired on 2035-12-31"},
		{"damaged host certificate", "host.pem", scramble, "made again at the next start"},
		{"host certificate without its key", "host.pem", dropKey, "does not hold a certificate and a key"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			dir, c := t.TempDir(), &clock{day0}
			open(t, dir, c)
			path := filepath.Join(dir, k.file)
			k.change(t, path, c)
			before, _ := os.ReadFile(path)
			_, err := OpenWith(dir, "host-1", nil, c.options())
			if err == nil || !strings.Contains(err.Error(), k.says) || !strings.Contains(err.Error(), path) {
				t.Errorf("got %v", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("the file was changed")
			}
		})
	}
}

func scramble(t *testing.T, path string, _ *clock) {
	rewrite(t, path, func(text string) string { return strings.Replace(text, "\nMI", "\nNJ", 1) })
}

func truncate(t *testing.T, path string, _ *clock) {
	rewrite(t, path, func(string) string { return "" })
}

func dropKey(t *testing.T, path string, _ *clock) {
	rewrite(t, path, func(text string) string { return text[:strings.Index(text, "-----BEGIN EC")] })
}

func rewrite(t *testing.T, path string, change func(string) string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(change(string(text))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyTheOwnerReadsTheKeysAndEverybodyTheCA(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	open(t, dir, &clock{day0})
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o711 {
		t.Errorf("%v %v", info, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		want := os.FileMode(0o600)
		if f.Name() == "ca.crt" {
			want = 0o644
		}
		if info, err := f.Info(); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v)", f.Name(), info.Mode(), err)
		}
	}
}
