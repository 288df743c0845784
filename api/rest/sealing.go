package rest

import (
	"time"

	"pinion/api/httpx"
	"pinion/api/leader"
	"pinion/raftfsm/sealing"
)

// sealingView is how far the replacement of the sealing key is.
type sealingView struct {
	Key   string    `json:"key,omitempty"`  // name of the sealing key; empty before the first replacement
	Since time.Time `json:"since,omitzero"` // when it began to replace the one before
	Left  int       `json:"left"`           // secrets that are sealed with an earlier key: access keys, and the key of the CA
}

// sealingKey serves the routes about the sealing key.
type sealingKey struct{ keys KeyStore }

func (s sealingKey) show(x *httpx.Exchange, res leader.Resolution) error {
	var out sealingView
	if key := sealing.Find(res.View); key != nil {
		out.Key, out.Since = key.Name, key.Since
	}
	left := sealing.Outdated(res.View)
	if out.Left = len(left.AccessKeys) + len(left.ACME) + len(left.Secrets); left.CA {
		out.Left++
	}
	return reply(x, out)
}

// rotate answers before the secrets are sealed anew: show tells how far that is.
func (s sealingKey) rotate(x *httpx.Exchange, _ leader.Resolution) error {
	if s.keys == nil {
		return NotConfigured("replacing the sealing key")
	}
	if err := s.keys.RotateSealingKey(x.Context()); err != nil {
		return err
	}
	return ok(x)
}
