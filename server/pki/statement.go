package pki

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"slices"

	"pinion/raftfsm/spec"
)

// SignText signs a text in the name of the pool. It takes the key of the CA, which servers alone have.
func SignText(ca CA, text []byte) (signature []byte, err error) {
	pair, err := parseCA(ca)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return ecdsa.SignASN1(rand.Reader, pair.key, sum[:])
}

// VerifyText reports whether the text was signed in the name of the pool of this identity. Whoever passes it on may pass on roots with it,
// of which a newer one counts when the newest that this host trusts has signed it.
func VerifyText(id *Identity, text, signature []byte, with spec.CARoots) bool {
	id.mu.Lock()
	known := id.roots
	id.mu.Unlock()
	trusted := known.trusted()
	if newer, err := known.after(with); err == nil && known.newest != nil {
		trusted = append(trusted, newer.newest)
	}
	sum := sha256.Sum256(text)
	return slices.ContainsFunc(trusted, func(ca *x509.Certificate) bool {
		key, ok := ca.PublicKey.(*ecdsa.PublicKey)
		return ok && ecdsa.VerifyASN1(key, sum[:], signature)
	})
}
