package pki

import (
	"context"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// openJoining is a host that has no identity yet.
func openJoining(t *testing.T, dir, hostID string, c *clock, names ...string) *Identity {
	t.Helper()
	o := c.options()
	o.Joining = true
	id, err := OpenWith(dir, hostID, names, o)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// caPEM is the certificate of the authority that a host trusts (PEM).
func caPEM(id *Identity) []byte { return certPEM(id.roots.newest) }

func authorityOf(t *testing.T, id *Identity) CA {
	t.Helper()
	a, held := id.CA()
	if !held {
		t.Fatal("the host does not hold the authority")
	}
	return a
}

// signRequest asks for a certificate and has it signed, without installing it.
func signRequest(t *testing.T, id *Identity, a CA, hostID string, now time.Time) []byte {
	t.Helper()
	csr, err := id.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	cert, err := Sign(a, csr, hostID, now)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestAHostJoinsAndKeepsItsCertificate(t *testing.T) {
	c := &clock{day0}
	first := open(t, t.TempDir(), c)
	dir := t.TempDir()
	id := openJoining(t, dir, "host-2", c, "gpu2", "10.0.0.2")
	if id.Ready() || id.Fingerprint() != "" {
		t.Error("ready before it joined")
	}
	if _, err := id.Certificate(); !errors.Is(err, ErrNoCertificate) {
		t.Errorf("got %v", err)
	}
	if err := id.Install(signRequest(t, id, authorityOf(t, first), "host-2", c.now), caPEM(first)); err != nil {
		t.Fatal(err)
	}
	if id.Fingerprint() != first.Fingerprint() {
		t.Error("the two do not know the same authority")
	}
	cert := shownCert(t, id)
	if hostID, err := first.Verify([]*x509.Certificate{cert}, x509.ExtKeyUsageClientAuth); hostID != "host-2" || err != nil {
		t.Errorf("the first host takes it for %q (%v)", hostID, err)
	}
	if names := NamesOf(cert); !slices.Contains(names, "gpu2") || !slices.Contains(names, "10.0.0.2") {
		t.Errorf("the certificate is for %q", names)
	}
	if again := openHost(t, dir, "host-2", c, "gpu2", "10.0.0.2"); !again.Ready() || !shownCert(t, again).Equal(cert) {
		t.Error("after a restart it shows another certificate")
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.pem")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a host that joined has a file for the authority's key")
	}
}

// openHost opens as every start does that is not told to join.
func openHost(t *testing.T, dir, hostID string, c *clock, names ...string) *Identity {
	t.Helper()
	id, err := OpenWith(dir, hostID, names, c.options())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestInstallTakesOnlyWhatWasAskedFor(t *testing.T) {
	c := &clock{day0}
	first, other := open(t, t.TempDir(), c), open(t, t.TempDir(), c)
	a := authorityOf(t, first)
	cases := []struct {
		name string
		cert func(id *Identity) []byte
		ca   []byte
		says string
	}{
		{"another host's id", func(id *Identity) []byte { return signRequest(t, id, a, "host-3", c.now) }, caPEM(first), "is for host \"host-3\""},
		{"another key", func(*Identity) []byte {
			return signRequest(t, openJoining(t, t.TempDir(), "host-2", c), a, "host-2", c.now)
		}, caPEM(first), "not for the key"},
		{"another authority behind it", func(id *Identity) []byte { return signRequest(t, id, a, "host-2", c.now) }, caPEM(other), "unknown authority"},
		{"no authority", func(id *Identity) []byte { return signRequest(t, id, a, "host-2", c.now) }, nil, "without the authority's"},
		{"an expired one", func(id *Identity) []byte { return signRequest(t, id, a, "host-2", c.now.AddDate(0, -2, 0)) }, caPEM(first), "expired"},
		{"no certificate", func(*Identity) []byte { return []byte("hello") }, caPEM(first), "does not hold a certificate"},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			dir := t.TempDir()
			id := openJoining(t, dir, "host-2", c)
			if _, err := id.NewRequest(); err != nil {
				t.Fatal(err)
			}
			if err := id.Install(k.cert(id), k.ca); err == nil || !strings.Contains(err.Error(), k.says) {
				t.Errorf("got %v", err)
			}
			if files, _ := os.ReadDir(dir); len(files) != 1 || files[0].Name() != "host.key" || id.Ready() {
				t.Errorf("something was installed: %v", files)
			}
		})
	}
	id := openJoining(t, t.TempDir(), "host-2", c)
	if err := id.Install(signRequest(t, id, a, "host-2", c.now), caPEM(first)); err != nil {
		t.Fatal(err)
	}
	if err := id.Install(signRequest(t, id, authorityOf(t, other), "host-2", c.now), caPEM(other)); err == nil {
		t.Error("the host changed the authority that it trusts")
	}
}

func TestSignRefusesWhatIsNoRequestOfAHost(t *testing.T) {
	c := &clock{day0}
	a := authorityOf(t, open(t, t.TempDir(), c))
	id := openJoining(t, t.TempDir(), "host-2", c)
	csr, err := id.NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	wild, err := openJoining(t, t.TempDir(), "host-2", c, "*.example").NewRequest()
	if err != nil {
		t.Fatal(err)
	}
	bad := append([]byte{}, csr...)
	bad[len(bad)/2] ^= 1
	for name, k := range map[string]struct {
		csr    []byte
		hostID string
	}{
		"nothing": {nil, "host-2"}, "a changed request": {bad, "host-2"}, "no host": {csr, ""},
		"a host id with a path in it": {csr, "a/b"}, "a name for many hosts": {wild, "host-2"},
	} {
		if _, err := Sign(a, k.csr, k.hostID, c.now); err == nil {
			t.Errorf("%s: signed", name)
		}
	}
	if _, err := Sign(CA{Certificate: a.Certificate}, csr, "host-2", c.now); err == nil {
		t.Error("signed without a key")
	}
}

func TestTheCertificateIsShownWithItsAuthority(t *testing.T) {
	c := &clock{day0}
	id := open(t, t.TempDir(), c)
	cert, err := id.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	var chain []*x509.Certificate
	for _, raw := range cert.Certificate {
		parsed, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, parsed)
	}
	sum, _ := hex.DecodeString(id.Fingerprint())
	if hostID, err := VerifyFingerprint(chain, sum[:16], c.now); hostID != "host-1" || err != nil {
		t.Errorf("%q %v", hostID, err)
	}
	if _, err := VerifyFingerprint(chain, append([]byte{sum[0] ^ 1}, sum[1:16]...), c.now); !errors.Is(err, ErrOtherPool) {
		t.Errorf("another fingerprint: %v", err)
	}
	if _, err := VerifyFingerprint(chain, sum[:15], c.now); err == nil {
		t.Error("15 bytes are enough")
	}
}

func TestServersHoldTheAuthorityAndAgentsDoNot(t *testing.T) {
	c := &clock{day0}
	firstDir, dir := t.TempDir(), t.TempDir()
	first := open(t, firstDir, c)
	a := authorityOf(t, first)
	id := openJoining(t, dir, "host-2", c)
	if err := id.Install(signRequest(t, id, a, "host-2", c.now), caPEM(first)); err != nil {
		t.Fatal(err)
	}
	if err := id.StoreCAKey(authorityOf(t, open(t, t.TempDir(), c))); err == nil {
		t.Error("holds another pool's authority")
	}
	if err := id.StoreCAKey(a); err != nil {
		t.Fatal(err)
	}
	if got := authorityOf(t, openHost(t, dir, "host-2", c)); string(got.Key) != string(a.Key) {
		t.Error("after a restart the authority is another")
	}
	for range 2 {
		if err := first.DropCAKey(); err != nil {
			t.Fatal(err)
		}
	}
	again := open(t, firstDir, c)
	if _, held := again.CA(); held || !again.Ready() {
		t.Error("the first host holds the authority that it dropped, or lost its certificate")
	}

	// All were off for two months: the server helps itself, the other host needs a token.
	c.now = day0.AddDate(0, 2, 0)
	if !openHost(t, dir, "host-2", c).Ready() || open(t, firstDir, c).Ready() {
		t.Error("not what was expected after two months")
	}
}

func TestAHostThatHoldsNoAuthorityRenewsThroughAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, err := Open(t.TempDir(), "host-1", nil)
		if err != nil {
			t.Fatal(err)
		}
		id, err := OpenJoining(t.TempDir(), "host-2", nil)
		if err != nil {
			t.Fatal(err)
		}
		a := authorityOf(t, first)
		if err := id.Install(signRequest(t, id, a, "host-2", time.Now()), caPEM(first)); err != nil {
			t.Fatal(err)
		}
		before, fails := shownCert(t, id), 3
		ctx, cancel := context.WithCancel(t.Context())
		asked := make(chan time.Duration, 10)
		go id.KeepRenewed(ctx, func(_ context.Context, csr []byte) ([]byte, error) {
			asked <- time.Since(before.NotBefore)
			if fails--; fails >= 0 {
				return nil, errors.New("no leader")
			}
			return Sign(a, csr, "host-2", time.Now())
		})
		life := before.NotAfter.Sub(before.NotBefore)
		for range 4 {
			if age := <-asked; age < life/2 || age > life*8/10+time.Hour {
				t.Errorf("renewed at %.0f %% of its life", 100*age.Hours()/life.Hours())
			}
		}
		synctest.Wait()
		after := shownCert(t, id)
		if after.Equal(before) || time.Until(after.NotAfter) != hostCertLifetime {
			t.Errorf("the new certificate ends in %v", time.Until(after.NotAfter))
		}
		if err := id.SetNames([]string{"moved"}); err != nil {
			t.Fatal(err)
		}
		<-asked
		synctest.Wait()
		if !slices.Contains(NamesOf(shownCert(t, id)), "moved") {
			t.Error("a new name did not get into the certificate")
		}
		cancel()
	})
}
