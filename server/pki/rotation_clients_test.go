package pki

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"os"
	"testing"
	"time"

	"pinion/raftfsm/spec"
)

// clientTrusts reports how a client takes a host that knows the pool by these roots.
func clientTrusts(t *testing.T, id *Identity, roots ...[]byte) error {
	t.Helper()
	cert, err := id.ServerTLS().GetCertificate(&tls.ClientHelloInfo{})
	if err != nil {
		t.Fatal(err)
	}
	shown := parseAll(t, cert.Certificate)
	pool, between := x509.NewCertPool(), x509.NewCertPool()
	for _, root := range roots {
		pool.AppendCertsFromPEM(root)
	}
	for _, cert := range shown[1:] {
		between.AddCert(cert)
	}
	_, err = shown[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between, CurrentTime: id.now(), DNSName: "localhost"})
	return err
}

func TestClientsKnowAHostByTheOldRootForAWhile(t *testing.T) {
	r := newRotation(t)
	check := func(step string, id *Identity, old, file bool) {
		t.Helper()
		text, err := os.ReadFile(id.CAFile())
		if err != nil {
			t.Fatal(err)
		}
		if err := clientTrusts(t, id, r.before.Certificate); (err == nil) != old {
			t.Errorf("%s: a client that knows the old root: %v", step, err)
		}
		if err := clientTrusts(t, id, text); (err == nil) != file {
			t.Errorf("%s: a client that has the host's file: %v", step, err)
		}
	}
	r.trust(r.agent, r.roots())
	check("before the renewal", r.agent, true, true)
	r.renew(r.agent)
	check("renewed", r.agent, true, true)
	r.trust(r.agent, r.finished())
	check("when hosts have dropped the old root", r.agent, true, true)
	r.clock.now = r.clock.now.Add(crossLifetime + time.Hour)
	r.renew(r.agent)
	check("32 days later", r.agent, false, true)

	r = newRotation(t)
	withdrawn := r.joined("host-3")
	told := r.roots()
	told.Overlap.Withdrawn = true
	r.trust(withdrawn, told)
	r.renew(withdrawn)
	check("withdrawn", withdrawn, false, true)
	if err := believes(t, r.joined("host-4"), withdrawn); err != nil {
		t.Errorf("a host that is not renewed yet: %v", err)
	}
}

func TestATokenOfBeforeIsGoodWhileTheOldRootIsShown(t *testing.T) {
	r := newRotation(t)
	fingerprint, _ := hex.DecodeString(FingerprintOf(r.before.Certificate))
	r.rotateServer()
	fresh, _ := hex.DecodeString(r.server.Fingerprint())
	for name, token := range map[string][]byte{"previous": fingerprint[:16], "fresh": fresh[:16]} {
		if hostID, err := VerifyFingerprint(chain(t, r.server), token, r.clock.now); hostID != "host-1" || err != nil {
			t.Errorf("a token %s: %v", name, err)
		}
	}
	over := r.roots()
	over.Overlap = spec.CAOverlap{}
	r.trust(r.server, over)
	if _, err := VerifyFingerprint(chain(t, r.server), fingerprint[:16], r.clock.now); !errors.Is(err, ErrOtherPool) {
		t.Errorf("the overlap is over: %v", err)
	}
}

// Clients have the pool's CA among those that they trust for AWS, and its key is on every server.
func TestTheCAIsNotGoodForAWS(t *testing.T) {
	r := newRotation(t)
	const name = "ecs.eu-central-1.amazonaws.com"
	for what, ca := range map[string]CA{"first": r.before, "next": r.next} {
		csr, err := openJoining(t, t.TempDir(), "host-7", r.clock, name).NewRequest()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Sign(ca, csr, "host-7", r.clock.now); err == nil {
			t.Errorf("%s root: a certificate for AWS is signed", what)
		}
		pair := mustPair(t, ca)
		free := *pair.cert
		free.ExcludedDNSDomains = nil // whoever has the key does not ask
		for _, names := range [][]string{{"gpu-1.example.com"}, {"gpu-1.example.com", name}} {
			leaf, err := issueCert(certKeyPair{cert: &free, key: pair.key}, &pair.key.PublicKey, "host-7", names, r.clock.now)
			if err != nil {
				t.Fatal(err)
			}
			if err := verifyCert(leaf, []*x509.Certificate{pair.cert}, x509.ExtKeyUsageServerAuth, r.clock.now); (err == nil) != (len(names) == 1) {
				t.Errorf("%s root: a certificate for %q: %v", what, names, err)
			}
			if verifyCert(leaf, []*x509.Certificate{pair.cert}, x509.ExtKeyUsageCodeSigning, r.clock.now) == nil {
				t.Errorf("%s root: a certificate signs programs", what)
			}
		}
	}
}
