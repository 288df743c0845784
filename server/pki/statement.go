package pki

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
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

// VerifyText reports whether the text was signed in the name of the pool of this identity.
func VerifyText(id *Identity, text, signature []byte) bool {
	id.mu.Lock()
	ca := id.ca.cert
	id.mu.Unlock()
	if ca == nil {
		return false
	}
	key, ok := ca.PublicKey.(*ecdsa.PublicKey)
	sum := sha256.Sum256(text)
	return ok && ecdsa.VerifyASN1(key, sum[:], signature)
}
