package pki

import (
	"crypto/ecdsa"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newRequest is the public key that the identity asks with, and the request.
func newRequest(t *testing.T, id *Identity) (*ecdsa.PublicKey, []byte) {
	t.Helper()
	csr, err := id.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	request, err := parseRequest(csr)
	if err != nil {
		t.Fatal(err)
	}
	return request.PublicKey.(*ecdsa.PublicKey), csr
}

func TestAHostAsksWithOneKeyForAllItsLife(t *testing.T) {
	c := &clock{day0}
	first, dir := open(t, t.TempDir(), c), t.TempDir()
	key, csr := newRequest(t, openJoining(t, dir, "host-2", c))
	file := filepath.Join(dir, "host.key")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the key before anybody saw it: %v %v", info, err)
	}

	// The process ends before the answer comes; the next one takes the answer to the first request.
	id := openJoining(t, dir, "host-2", c)
	if again, _ := newRequest(t, id); !again.Equal(key) {
		t.Error("after a crash it asks with another key")
	}
	cert, err := Sign(authorityOf(t, first), csr, "host-2", c.now)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Install(cert, caPEM(first)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the key lies there twice")
	}

	if renewed, _ := newRequest(t, openHost(t, dir, "host-2", c)); !renewed.Equal(key) {
		t.Error("it renews its certificate with another key")
	}
	c.now = day0.AddDate(0, 2, 0)
	late := openJoining(t, dir, "host-2", c)
	if expired, _ := newRequest(t, late); !expired.Equal(key) || late.Ready() {
		t.Error("after two months it asks with another key, or believes its certificate")
	}
	if err := late.Install(signRequest(t, late, authorityOf(t, first), "host-2", c.now), caPEM(first)); err != nil || !late.Ready() {
		t.Errorf("it does not come back: %v", err)
	}
}

func TestAHostThatRenewsItselfKeepsItsKey(t *testing.T) {
	c := &clock{day0}
	id := open(t, t.TempDir(), c)
	before := shownCert(t, id).PublicKey.(*ecdsa.PublicKey)
	c.now = day0.AddDate(0, 2, 0)
	if after := shownCert(t, id); !before.Equal(after.PublicKey) {
		t.Error("the key changed with the certificate")
	}
}

func TestAnInstallThatWasCutShortLeavesNoSecondKey(t *testing.T) {
	c := &clock{day0}
	first, dir := open(t, t.TempDir(), c), t.TempDir()
	id := openJoining(t, dir, "host-2", c)
	cert := signRequest(t, id, authorityOf(t, first), "host-2", c.now)
	file := filepath.Join(dir, "host.key")
	key, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Install(cert, caPEM(first)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, key, 0o600); err != nil {
		t.Fatal(err)
	}
	if again := openHost(t, dir, "host-2", c); !again.Ready() {
		t.Error("it is not ready")
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the key lies there twice")
	}
}

func TestADamagedKeyIsRefusedAndKept(t *testing.T) {
	for _, text := range []string{"", "hello", "-----BEGIN EC PRIVATE KEY-----\naGVsbG8=\n-----END EC PRIVATE KEY-----\n"} {
		dir := t.TempDir()
		file := filepath.Join(dir, "host.key")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openJoining(t, dir, "host-2", &clock{day0}).NewRequest(); err == nil || !strings.Contains(err.Error(), "delete it and join again") {
			t.Errorf("%q: %v", text, err)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != text {
			t.Errorf("%q became %q (%v)", text, after, err)
		}
	}
}
