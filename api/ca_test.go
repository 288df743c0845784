package api

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"math/big"
	"testing"
	"time"

	"pinion/raftfsm"
	"pinion/raftfsm/ca"
	"pinion/raftfsm/spec"
)

// selfSigned is a root that ends after some hours.
func selfSigned(name string, hours int64) []byte {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(hours), Subject: pkix.Name{CommonName: name}, NotBefore: epoch, NotAfter: epoch.Add(time.Duration(hours) * time.Hour)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

// RotateCA records another root; the cross certificate is the old one.
func (s *fakeKeyStore) RotateCA(ctx context.Context, force bool) error {
	known := s.state.View().CA()
	if known == nil {
		return errors.New("no CA")
	}
	overlap := spec.CAOverlap{Previous: known.Certificate, Cross: known.Certificate, Trusted: true, Forced: force, Withdrawn: force}
	_, err := s.Propose(ctx, raftfsm.Wrap(ca.Rotate{CA: spec.CA{Certificate: selfSigned("second", 20), Seal: "mirror", Overlap: overlap}, From: known.Certificate}))
	return err
}

func TestTheRootsOfTheCAAreToldAndRotated(t *testing.T) {
	for _, force := range []bool{false, true} {
		b := newSealedFixture(t)
		first := selfSigned("first", 10)
		b.mustApply(t, raftfsm.Wrap(ca.Put{Authority: spec.CA{Certificate: first, Seal: "mirror"}}))
		type document struct {
			Roots []struct {
				Fingerprint, Certificate string
				Signs                    bool
				Expires, ClientsUntil    time.Time
			}
			Rotating, Forced bool
			Left             []struct{ ID, Name string }
		}
		show := func() (ca document) {
			if err := json.Unmarshal(b.get("/v1/admin/ca").Body.Bytes(), &ca); err != nil {
				t.Fatal(err)
			}
			return ca
		}
		before := show()
		if len(before.Roots) != 1 || !before.Roots[0].Signs || before.Rotating || len(before.Left) > 0 || before.Roots[0].Certificate != string(first) {
			t.Errorf("before: %+v", before)
		}
		body := `{"force":false}`
		if force {
			body = `{"force":true}`
		}
		if got := b.rest("admin/ca/rotate", body); got.Code != 200 {
			t.Fatalf("%d %s", got.Code, got.Body)
		}
		after := show()
		if len(after.Roots) != 2 || after.Roots[0].Signs == after.Roots[1].Signs || !after.Rotating || after.Forced != force {
			t.Fatalf("after: %+v", after)
		}
		if served := !after.Roots[1].ClientsUntil.IsZero(); served == force {
			t.Errorf("forced %t: clients of the old root until %v", force, after.Roots[1].ClientsUntil)
		}
		if hosts := len(b.fakeStore.state.View().Hosts("")); len(after.Left) != hosts {
			t.Errorf("%d hosts are left, of %d", len(after.Left), hosts)
		}
	}
}
