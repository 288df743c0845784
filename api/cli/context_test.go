package cli

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pinion/api/client"
)

// authority is a CA, as a pool has one.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	key := newKey(t)
	a := authority{key: key}
	a.certificate = a.sign(t, key, &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a authority) sign(t *testing.T, key *ecdsa.PrivateKey, template *x509.Certificate) *x509.Certificate {
	t.Helper()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(1), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent := a.certificate
	if parent == nil {
		parent = template
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

func (a authority) fingerprint() string {
	digest := sha256.Sum256(a.certificate.Raw)
	return hex.EncodeToString(digest[:])
}

// tlsHost is a host at 127.0.0.1 that counts the requests it gets.
type tlsHost struct {
	address  string
	requests atomic.Int32
}

// newTLSHost is a host whose certificate signer has signed for a name or an address; it shows the CA shown behind it.
func newTLSHost(t *testing.T, signer, shown authority, name string) *tlsHost {
	t.Helper()
	key, template := newKey(t), &x509.Certificate{DNSNames: []string{name}}
	if ip := net.ParseIP(name); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	leaf := signer.sign(t, key, template)
	h := &tlsHost{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.requests.Add(1)
		if !strings.Contains(r.Header.Get("Authorization"), "AKIAGOOD") {
			w.WriteHeader(http.StatusForbidden)
		}
		w.Write([]byte(`{"version":"1"}`))
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{leaf.Raw, shown.certificate.Raw}, PrivateKey: key}}}
	server.StartTLS()
	t.Cleanup(server.Close)
	h.address = server.Listener.Addr().String()
	return h
}

// logInWith logs in with a connection string at standard input.
func logInWith(s client.ConnectionString, arguments ...string) (out, stderr string, err error) {
	return typed(s.String()+"\n", append([]string{"login", "-"}, arguments...)...)
}

func typed(stdin string, arguments ...string) (string, string, error) {
	var out, stderr bytes.Buffer
	app := New(Program{})
	app.Reader, app.Writer, app.ErrWriter = strings.NewReader(stdin), &out, &stderr
	err := runLine(context.Background(), app, append([]string{"pinion"}, arguments...))
	return out.String(), stderr.String(), err
}

func TestAConnectionStringIsALogin(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	ca := newAuthority(t)
	h := newTLSHost(t, ca, ca, "127.0.0.1")
	if _, _, err := logInWith(client.ConnectionString{Host: h.address, CA: ca.fingerprint(), KeyID: "AKIAGONE", Secret: "s"}); err == nil {
		t.Error("a key that the host refuses is a login")
	}
	if left, _ := os.ReadDir(filepath.Join(config, "pinion")); len(left) != 0 {
		t.Errorf("of a key that the host refuses %v was kept", left)
	}
	s := client.ConnectionString{Host: h.address, CA: ca.fingerprint(), KeyID: "AKIAGOOD", Secret: "se/c:r@t+?"}
	if out, _, err := logInWith(s, "--context", "lab"); err != nil || !strings.Contains(out, "context lab") {
		t.Fatalf("%s %v", out, err)
	}
	if out, stderr, err := typed("", "version", "--context", "lab"); err != nil || !strings.Contains(out, "host   1") {
		t.Errorf("the context is not used: %s %s %v", out, stderr, err)
	}
	out, _, err := typed("", "context", "show")
	if err != nil || !strings.Contains(out, "AKIAGOOD") || strings.Contains(out, s.Secret) {
		t.Errorf("context show: %v\n%s", err, out)
	}
	info, err := os.Stat(filepath.Join(config, "pinion/contexts/lab/login.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the login has mode %v, %v", info.Mode(), err)
	}
	if _, _, err := typed("", "context", "rm", "lab"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(config, "pinion/contexts/lab")); err == nil {
		t.Error("a context that was removed is still there")
	}
	if _, _, err := typed("", "context", "use", "../../etc"); err == nil {
		t.Error("a context may lie outside of its directory")
	}
}

// A context takes its access key with it: no file of the user has the secret any more, and what is left of the key in the pool is said.
func TestAContextTakesItsAccessKeyWithIt(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	ca := newAuthority(t)
	h := newTLSHost(t, ca, ca, "127.0.0.1")
	secretOf := map[string]string{"default": "secret-of-default", "lab": "secret-of-lab"}
	for name, secret := range secretOf {
		if _, _, err := logInWith(client.ConnectionString{Host: h.address, CA: ca.fingerprint(), KeyID: "AKIAGOOD", Secret: secret}, "--context", name); err != nil {
			t.Fatal(err)
		}
	}
	for name, secret := range secretOf {
		if files := holding(t, config, secret); len(files) != 1 {
			t.Errorf("%s: %v hold its secret", name, files)
		}
		out, stderr, err := typed("", "context", "rm", name)
		if err != nil || out != name+"\n" || !strings.Contains(stderr, "AKIAGOOD is deleted here") || !strings.Contains(stderr, "pinion key rm AKIAGOOD") {
			t.Errorf("%s: %q %q %v", name, out, stderr, err)
		}
		if files := holding(t, config, secret); len(files) != 0 {
			t.Errorf("%s was removed, and %v hold its secret", name, files)
		}
		if _, _, err := typed("", "context", "rm", name); err == nil {
			t.Errorf("%s was removed twice", name)
		}
	}
	broken := filepath.Join(config, "pinion/contexts/broken")
	if err := errors.Join(os.MkdirAll(broken, 0o700), os.WriteFile(filepath.Join(broken, "login.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := typed("", "context", "rm", "broken"); err != nil {
		t.Errorf("a context whose login cannot be read stays: %v", err)
	}
}

// holding are the files below a directory that have a text in them.
func holding(t *testing.T, dir, text string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), text) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Who stands at the address of a host and is not of its pool is sent nothing, and nothing is kept.
func TestNobodyPosesAsTheHostOfAConnectionString(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	for name, h := range map[string]*tlsHost{
		"a host of another pool":                            newTLSHost(t, theirs, theirs, "127.0.0.1"),
		"a host that shows our CA and has no key of it":     newTLSHost(t, theirs, ours, "127.0.0.1"),
		"a host of our pool with a certificate for another": newTLSHost(t, ours, ours, "gpu-9"),
	} {
		config := t.TempDir()
		t.Setenv("XDG_CONFIG_HOME", config)
		out, stderr, err := logInWith(client.ConnectionString{Host: h.address, CA: ours.fingerprint(), KeyID: "AKIAGOOD", Secret: "secret-of-key"})
		if err == nil || h.requests.Load() != 0 {
			t.Errorf("%s: %d requests, %v", name, h.requests.Load(), err)
		}
		if strings.Contains(out+stderr+err.Error(), "secret-of-key") {
			t.Errorf("%s: the secret is shown", name)
		}
		if left, _ := os.ReadDir(filepath.Join(config, "pinion")); len(left) != 0 {
			t.Errorf("%s: %v was kept", name, left)
		}
	}
}

func TestALoginThatOthersMayReadIsRefused(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	ca := newAuthority(t)
	h := newTLSHost(t, ca, ca, "127.0.0.1")
	if _, _, err := logInWith(client.ConnectionString{Host: h.address, CA: ca.fingerprint(), KeyID: "AKIAGOOD", Secret: "s"}); err != nil {
		t.Fatal(err)
	}
	path, before := filepath.Join(config, "pinion/login.json"), h.requests.Load()
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, _, err := typed("", "ps", "--context", "default"); err == nil || !strings.Contains(err.Error(), path) || h.requests.Load() != before {
			t.Errorf("mode %v: %v", mode, err)
		}
	}
}

func TestABadConnectionStringIsRefusedWithoutShowingIt(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	pin := "?ca=sha256:" + strings.Repeat("0a", 32)
	for _, text := range []string{"", "https://K:topsecret@h" + pin, "pinion://K:topsecret@h", "pinion://K:topsecret@h?ca=sha256:00", "pinion://K@h" + pin,
		"pinion://K:topsecret@" + pin, "pinion://K:topsecret@h/x" + pin, "pinion://K:topsecret%zz@h" + pin} {
		if _, stderr, err := typed(text+"\n", "login", "-"); err == nil || strings.Contains(stderr+err.Error(), "topsecret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
