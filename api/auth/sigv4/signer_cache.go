package sigv4

import (
	"sync"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// maxSigners bounds what is remembered: whoever holds a key may name any region.
const maxSigners = 256

// SignerCache remembers with what requests were found to be right. A signer derives the signing key of one secret, day, region
// and service when it is used first, which costs as much as half a check. What proved wrong is not remembered, so strangers
// take no room. The zero value is ready, and it is safe for concurrent use.
type SignerCache struct {
	mu    sync.RWMutex
	known map[credentialScope]*v4.Signer
}

// credentialScope is what a signing key is derived from.
type credentialScope struct{ secret, date, region, service string }

// get is the signer of a scope, a new one when none is remembered.
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

// put keeps the signer of a request that was right. When there is no room all are forgotten: that costs each of them one
// derivation.
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
