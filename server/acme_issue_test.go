package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"golang.org/x/crypto/acme"
)

// issued is a certificate with its key as hosts share it.
type issued struct {
	value, chain []byte // chain: without the key
}

// certificateOf is a certificate for a name from a CA that nobody knows.
func certificateOf(t *testing.T, name string, from time.Time, life time.Duration) issued {
	t.Helper()
	ca, caKey := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA"}, IsCA: true, BasicConstraintsValid: true, NotAfter: from.Add(life)}, newKey(t)
	key := newKey(t)
	return issue(t, name, from, life, key, ca, caKey)
}

// selfSigned is a certificate for a name that no CA has given.
func selfSigned(t *testing.T, name string) []byte {
	t.Helper()
	key := newKey(t)
	return issue(t, name, time.Now(), 90*day, key, nil, key).value
}

func issue(t *testing.T, name string, from time.Time, life time.Duration, key *ecdsa.PrivateKey, ca *x509.Certificate, caKey *ecdsa.PrivateKey) issued {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotBefore: from, NotAfter: from.Add(life)}
	if ca == nil {
		ca = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, ca, key.Public(), caKey)
	if err != nil {
		t.Fatal(err)
	}
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return issued{append(encodeKey(t, key), chain...), chain}
}

// challengeOf is the answer to a challenge for a name, as autocert makes it.
func challengeOf(t *testing.T, name string) []byte {
	t.Helper()
	pair, err := (&acme.Client{Key: newKey(t)}).TLSALPN01ChallengeCert("token", name)
	if err != nil {
		t.Fatal(err)
	}
	return append(encodeKey(t, pair.PrivateKey.(*ecdsa.PrivateKey)), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})...)
}

// keyOf is a key without a certificate, as autocert writes that of an account.
func keyOf(t *testing.T) []byte {
	t.Helper()
	return encodeKey(t, newKey(t))
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encodeKey(t *testing.T, key *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}
