package auth

import (
	"encoding/hex"
	"sync"
	"time"

	"pinion/api/auth/sigv4"
	"pinion/api/httpx"
	"pinion/api/wire"
)

const (
	// replayTTL is how long a signature can be sent again before its date alone refuses it: it may be dated from Skew ago to
	// Skew ahead.
	replayTTL = 2 * sigv4.Skew
	// replayMax bounds the cache to about 10 MB. Beyond it the oldest half is forgotten.
	replayMax = 1 << 18
)

// ReplayCache remembers the signatures of requests that have changed something, so that a copied request cannot be repeated.
// It is the leader's memory alone: a new leader begins with an empty one. The zero value is ready, and it is safe for
// concurrent use.
//
// A signature whose request failed may come again, because SDKs repeat a request within a second unchanged.
type ReplayCache struct {
	mu                sync.Mutex
	current, previous map[signature]struct{} // two generations: the older one is dropped whole
	since             time.Time              // when the current generation began
	maxPerGeneration  int                    // replayMax/2 when 0
}

type signature [32]byte

// Once makes a change unless the principal's signature has made one before. A principal without a signature (the socket, a
// bearer key) passes, and so does a request with a client token: repeating that is what the token is for.
//
// boto3 gives two equal calls within one second the same signature. So the refusal is of a type that SDKs answer by signing
// anew after a pause: an intended call goes through then, and a copied one never does.
func (c *ReplayCache) Once(p Principal, clientToken string, now time.Time, change func() error) error {
	if p.Signature == "" || clientToken != "" {
		return change()
	}
	finish, ok := c.claim(p.Signature, now)
	if !ok {
		return wire.Errorf(httpx.Replayed, "Nothing was done: a request with this very signature was carried out before, or is being carried out. To have it done once more, sign it anew, a second later; to repeat a request safely, use a client token.")
	}
	done := false
	defer func() { finish(done) }() // also when it panics
	err := change()
	done = err == nil
	return err
}

// claim reserves a signature for a change that is about to be made; false when it is claimed already. finish must be called
// with the outcome.
func (c *ReplayCache) claim(text string, at time.Time) (finish func(done bool), ok bool) {
	var key signature
	_, _ = hex.Decode(key[:], []byte(text)) // 64 hex digits: it was verified
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rotate(at)
	if c.has(key) {
		return nil, false
	}
	c.current[key] = struct{}{}
	return func(done bool) {
		if !done {
			c.forget(key)
		}
	}, true
}

func (c *ReplayCache) has(key signature) bool {
	if _, known := c.current[key]; known {
		return true
	}
	_, known := c.previous[key]
	return known
}

func (c *ReplayCache) forget(key signature) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.current, key)
	delete(c.previous, key)
}

// rotate starts a new generation when the current one is old enough, or full.
func (c *ReplayCache) rotate(at time.Time) {
	limit := c.maxPerGeneration
	if limit == 0 {
		limit = replayMax / 2
	}
	if c.current != nil && at.Sub(c.since) < replayTTL && len(c.current) < limit {
		return
	}
	c.previous, c.current, c.since = c.current, map[signature]struct{}{}, at
}
