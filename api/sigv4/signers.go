package sigv4

import (
	"sync"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// rememberedSigners bounds what is remembered: whoever holds a key may name any region.
const rememberedSigners = 256

// Signers remembers with what requests were found to be right. A signer derives the signing key of one secret, day, region
// and service when it is used first, which costs as much as half a check. What proved wrong is not remembered, so strangers
// take no room. The zero value is ready, and it is safe for concurrent use.
type Signers struct {
	mu    sync.RWMutex
	known map[scope]*v4.Signer
}

// scope is what a signing key is derived from.
type scope struct{ secret, date, region, service string }

// of is the signer of a scope, a new one when none is remembered.
func (s *Signers) of(its scope) *v4.Signer {
	if s != nil {
		s.mu.RLock()
		defer s.mu.RUnlock()
		if known, ok := s.known[its]; ok {
			return known
		}
	}
	return v4.NewSigner()
}

// remember keeps the signer of a request that was right. When there is no room all are forgotten: that costs each of them one
// derivation.
func (s *Signers) remember(its scope, signer *v4.Signer) {
	if s == nil {
		return
	}
	s.mu.RLock()
	known := s.known[its]
	s.mu.RUnlock()
	if known == signer {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= rememberedSigners {
		s.known = map[scope]*v4.Signer{}
	}
	s.known[its] = signer
}
