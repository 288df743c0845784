package sigv4

import (
	"sync"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// maxSigners bounds the cache: the owner of a key may name any region.
const maxSigners = 256

// SignerCache holds signers by credential scope. A signer derives the signing key of one secret, day, region and service at its
// first use, which costs half a verification. Only the signers of verified requests are kept, so an invalid key takes no room.
// The zero value is ready, and it is safe for concurrent use.
type SignerCache struct {
	mu    sync.RWMutex
	known map[credentialScope]*v4.Signer
}

// credentialScope is the input of a signing key's derivation.
type credentialScope struct{ secret, date, region, service string }

// get returns the signer of a scope; a new one when none is kept.
func (s *SignerCache) get(scope credentialScope) *v4.Signer {
	if s != nil {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if known, ok := s.known[scope]; ok {
			return known
		}
	}
	return v4.NewSigner()
}

// put keeps the signer of a verified request. A full cache is emptied: each of its signers is derived once more.
func (s *SignerCache) put(scope credentialScope, signer *v4.Signer) {
	if s == nil {
		return
	}
	s.mu.RLock()
	known := s.known[scope]
	s.mu.RUnlock()
	if known == signer {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxSigners {
		s.known = map[credentialScope]*v4.Signer{}
	}
	s.known[scope] = signer
}
