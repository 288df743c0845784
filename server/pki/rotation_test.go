package pki

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"pinion/raftfsm/spec"
)

// rotation is a server and an agent of one pool, and the root that is to take the place of theirs.
type rotation struct {
	t             *testing.T
	clock         *clock
	server, agent *Identity
	before, next  CA
	overlap       spec.CAOverlap
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	c := &clock{day0}
	r := &rotation{t: t, clock: c, server: open(t, t.TempDir(), c)}
	r.before = authorityOf(t, r.server)
	r.agent = r.joined("host-2")
	r.next, r.overlap = r.newCA(r.before)
	return r
}

// joined is another host of the pool, as it was before the rotation.
func (r *rotation) joined(hostID string) *Identity {
	r.t.Helper()
	id := openJoining(r.t, r.t.TempDir(), hostID, r.clock)
	if err := id.Install(signRequest(r.t, id, r.before, hostID, r.clock.now), r.before.Certificate); err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *rotation) newCA(before CA) (CA, spec.CAOverlap) {
	r.t.Helper()
	next, overlap, err := NewCA(before, r.clock.now)
	if err != nil {
		r.t.Fatal(err)
	}
	return next, overlap
}

func (r *rotation) roots() spec.CARoots {
	return spec.CARoots{Newest: r.next.Certificate, Overlap: r.overlap}
}

// finished are the roots of when no host is on the old one any more.
func (r *rotation) finished() spec.CARoots {
	roots := r.roots()
	roots.Overlap.Trusted = false
	return roots
}

func (r *rotation) trust(id *Identity, roots spec.CARoots) {
	r.t.Helper()
	if err := id.Roots().Trust(roots); err != nil {
		r.t.Fatal(err)
	}
}

// renew gives an agent a certificate of the new root.
func (r *rotation) renew(id *Identity) {
	r.t.Helper()
	if err := id.Install(signRequest(r.t, id, r.next, id.HostID(), r.clock.now), nil); err != nil {
		r.t.Fatal(err)
	}
}

// rotateServer has the server take over the new root with its key, as every server does from its state.
func (r *rotation) rotateServer() {
	r.t.Helper()
	r.trust(r.server, r.roots())
	if err := r.server.StoreCAKey(r.next); err != nil {
		r.t.Fatal(err)
	}
}

// chain is what a host shows to others.
func chain(t *testing.T, id *Identity) []*x509.Certificate {
	t.Helper()
	cert, err := id.Certificate()
	if err != nil {
		t.Fatal(err)
	}
	return parseAll(t, cert.Certificate)
}

func parseAll(t *testing.T, raw [][]byte) (all []*x509.Certificate) {
	t.Helper()
	for _, der := range raw {
		cert, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cert)
	}
	return all
}

// believes reports whether a host takes what another shows.
func believes(t *testing.T, id, shows *Identity) error {
	t.Helper()
	_, err := id.Verify(chain(t, shows), x509.ExtKeyUsageClientAuth)
	return err
}

func TestHostsBelieveOneAnotherAllThroughARotation(t *testing.T) {
	r := newRotation(t)
	both := func(step string) {
		t.Helper()
		for _, pair := range [][2]*Identity{{r.server, r.agent}, {r.agent, r.server}} {
			if err := believes(t, pair[0], pair[1]); err != nil {
				t.Errorf("%s: %s does not believe %s: %v", step, pair[0].host, pair[1].host, err)
			}
		}
	}
	both("before")
	r.rotateServer()
	if r.server.Roots().Issuer() != FingerprintOf(r.next.Certificate) {
		both("the server has a new certificate") // which Certificate makes
	}
	if got := r.server.Roots().Issuer(); got != FingerprintOf(r.next.Certificate) {
		t.Fatalf("the certificate of the server is of root %.16s", got)
	}
	r.trust(r.agent, r.roots())
	both("the agent knows of the new root")
	if r.agent.Roots().Issuer() != FingerprintOf(r.before.Certificate) {
		t.Error("the agent has a new certificate before it asked")
	}
	r.renew(r.agent)
	both("the agent is renewed")
	r.trust(r.server, r.finished())
	both("the server has dropped the old root")
	r.trust(r.agent, r.finished())
	both("the agent too")
	if late := r.joined("host-3"); believes(t, r.agent, late) == nil || believes(t, r.server, late) == nil {
		t.Error("a certificate of the old root is still good")
	}
}

// Whoever has the key of a root that was replaced makes nothing with it that a host takes for its pool's.
func TestTheKeyOfADroppedRootOpensNothing(t *testing.T) {
	r := newRotation(t)
	r.trust(r.agent, r.roots())
	forged, overlap := r.newCA(r.before) // a root of the thief's, signed by the old one
	if err := r.agent.Roots().Trust(spec.CARoots{Newest: forged.Certificate, Overlap: overlap}); !errors.Is(err, ErrOtherCA) {
		t.Errorf("in the middle of a rotation it takes the thief's root: %v", err)
	}
	r.renew(r.agent)
	r.trust(r.agent, r.finished())
	thief := r.joined("host-9")
	if err := thief.Roots().Trust(spec.CARoots{Newest: forged.Certificate, Overlap: overlap}); err != nil {
		t.Fatal(err)
	}
	if err := thief.Install(signRequest(t, thief, forged, "host-9", r.clock.now), nil); err != nil {
		t.Fatal(err)
	}
	old := r.joined("host-8")
	for name, shows := range map[string]*Identity{"of the old root": old, "of a root that the old one has signed": thief} {
		if err := believes(t, r.agent, shows); !errors.Is(err, ErrOtherCA) {
			t.Errorf("a certificate %s: %v", name, err)
		}
	}
	text := []byte("the servers are others now")
	for name, with := range map[string]spec.CARoots{"alone": {}, "with its own root": {Newest: forged.Certificate, Overlap: overlap}, "with the old root": {Newest: r.before.Certificate}} {
		for signer, ca := range map[string]CA{"old": r.before, "forged": forged} {
			if signature, err := SignText(ca, text); err != nil || VerifyText(r.agent, text, signature, with) {
				t.Errorf("a text that is signed with the %s key, %s, is believed (%v)", signer, name, err)
			}
		}
	}
	for name, told := range map[string]spec.CARoots{"the old root": {Newest: r.before.Certificate}, "both": r.roots(), "the thief's": {Newest: forged.Certificate, Overlap: overlap}} {
		_ = r.agent.Roots().Trust(told)
		if got := r.agent.Roots().List(); string(got.Newest) != string(r.next.Certificate) || got.Overlap.Trusted {
			t.Errorf("told of %s, it trusts again what was dropped", name)
		}
	}
}

func TestARootIsTakenOverOnlyWithACrossCertificateOfItsOwn(t *testing.T) {
	r := newRotation(t)
	other, unrelated := r.newCA(authorityOf(t, open(t, t.TempDir(), r.clock)))
	for name, told := range map[string]spec.CARoots{
		"nothing":               {},
		"no cross certificate":  {Newest: r.next.Certificate},
		"another pool's":        {Newest: other.Certificate, Overlap: unrelated},
		"one for another key":   {Newest: other.Certificate, Overlap: r.overlap},
		"signed by another CA":  {Newest: r.next.Certificate, Overlap: spec.CAOverlap{Previous: r.overlap.Previous, Cross: unrelated.Cross}},
		"the root as its cross": {Newest: r.next.Certificate, Overlap: spec.CAOverlap{Previous: r.overlap.Previous, Cross: r.next.Certificate}},
	} {
		if err := r.agent.Roots().Trust(told); err == nil || r.agent.Fingerprint() != FingerprintOf(r.before.Certificate) {
			t.Errorf("%s: taken over (%v)", name, err)
		}
	}
}

// A text of the pool, such as which hosts are servers, reaches hosts that were away.
func TestAHostThatWasAwayVerifiesTextsOfTheNewRoot(t *testing.T) {
	r := newRotation(t)
	text := []byte("these are the servers")
	signature, err := SignText(r.next, text)
	if err != nil {
		t.Fatal(err)
	}
	if VerifyText(r.agent, text, signature, spec.CARoots{}) || !VerifyText(r.agent, text, signature, r.roots()) {
		t.Error("with the roots it is proved, and without them not")
	}
	old, _ := SignText(r.before, text)
	if r.trust(r.agent, r.roots()); !VerifyText(r.agent, text, old, spec.CARoots{}) {
		t.Error("what the old root has signed is not believed during the rotation")
	}
}

func TestARotationOutlivesARestartAtAnyPoint(t *testing.T) {
	r := newRotation(t)
	again := func(id *Identity) *Identity { return openHost(t, id.dir, id.host, r.clock) }
	r.trust(r.server, r.roots())
	if _, err := os.Stat(filepath.Join(r.server.dir, "ca.pem")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the key of the root before is still on the disk of the server")
	}
	if id := again(r.server); !id.Ready() || believes(t, r.agent, id) != nil {
		t.Error("a server that has not got the new key yet does not start")
	}
	if err := (certKeyPair{cert: mustParse(t, r.before.Certificate), key: mustPair(t, r.before).key}).write(nil, filepath.Join(r.server.dir, "ca.pem")); err != nil {
		t.Fatal(err)
	}
	if _, held := again(r.server).CA(); held {
		t.Error("it signs with the root before")
	}
	if err := r.server.StoreCAKey(r.next); err != nil {
		t.Fatal(err)
	}
	if id := again(r.server); authorityOf(t, id).Key == nil || believes(t, r.agent, id) != nil {
		t.Error("after a restart")
	}
	if id := again(r.server); id.Roots().Issuer() != FingerprintOf(r.next.Certificate) {
		t.Error("a server does not renew its certificate at the start")
	}
	r.trust(r.agent, r.roots())
	id := again(r.agent)
	if r.renew(id); again(id).Roots().Issuer() != FingerprintOf(r.next.Certificate) {
		t.Error("the agent")
	}
	key := publicKeyHash(shownCert(t, id).RawSubjectPublicKeyInfo)
	if publicKeyHash(shownCert(t, r.agent).RawSubjectPublicKeyInfo) != key {
		t.Error("a host has another key")
	}
}

func mustParse(t *testing.T, text []byte) *x509.Certificate {
	t.Helper()
	cert, err := parseCert(text)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func mustPair(t *testing.T, ca CA) certKeyPair {
	t.Helper()
	pair, err := parseCA(ca)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// A host that comes back after the old root was dropped has no certificate that anybody takes. A token gets it one, for the key that it has.
func TestAHostThatMissedARotationJoinsWithAToken(t *testing.T) {
	r := newRotation(t)
	key, _ := r.agent.Admission()
	later, overlap := r.newCA(r.next)
	overlap.Trusted = false
	told := spec.CARoots{Newest: later.Certificate, Overlap: overlap}
	cert := signRequest(t, r.agent, later, "host-2", r.clock.now)
	if err := r.agent.Roots().Join(cert, told, false); !errors.Is(err, ErrOtherCA) {
		t.Errorf("a host of another pool: %v", err)
	}
	if err := r.agent.Roots().Join(cert, told, true); err != nil {
		t.Fatal(err)
	}
	id := openHost(t, r.agent.dir, "host-2", r.clock)
	if again, _ := id.Admission(); again != key || id.Roots().Issuer() != FingerprintOf(later.Certificate) || !id.Ready() {
		t.Errorf("it has the key %s and the root %.16s", again, id.Roots().Issuer())
	}
}
