package auth

import (
	"sync"
	"time"

	"pinion/api/httpx"
	"pinion/api/wire"
)

// RateLimiter holds each access key to its requests per second with a token bucket. Each process counts for itself. The zero value is ready,
// and it is safe for concurrent use.
type RateLimiter struct {
	mu      sync.Mutex
	buckets map[string]*bucket // by key id; only of keys with a limit
}

// bucket is what a key has left.
type bucket struct {
	tokens float64
	at     time.Time // when tokens was right
}

// burstSeconds is how many seconds' worth of requests may come at once.
const burstSeconds = 2

// maxBuckets bounds the limiter: keys that have sent nothing for long are forgotten beyond it, and begin with a full bucket.
const maxBuckets = 4096

// Take counts one request of the principal, and refuses it when its key has used up what it may send.
func (l *RateLimiter) Take(p Principal, now time.Time) error {
	rate := p.Grant.RequestsPerSecond
	if p.KeyID == "" || rate <= 0 || l.take(p.KeyID, float64(rate), now) {
		return nil
	}
	return wire.Errorf(httpx.LimitExceeded, "Access key %s may send %d requests a second and has sent more. Send fewer, or have an administrator make a key with more (`pinion keys create --max-requests`).", p.KeyID, rate)
}

func (l *RateLimiter) take(keyID string, rate float64, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[keyID]
	if b == nil {
		b = l.add(keyID, burstSeconds*rate, now)
	}
	if since := now.Sub(b.at).Seconds(); since > 0 { // a clock that went back gives nothing
		b.tokens = min(burstSeconds*rate, b.tokens+since*rate)
	}
	b.at = now
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

func (l *RateLimiter) add(keyID string, tokens float64, now time.Time) *bucket {
	if len(l.buckets) >= maxBuckets {
		for id, b := range l.buckets {
			if now.Sub(b.at) > burstSeconds*time.Second { // full again, as a new one is
				delete(l.buckets, id)
			}
		}
	}
	if l.buckets == nil {
		l.buckets = map[string]*bucket{}
	}
	b := &bucket{tokens: tokens, at: now}
	l.buckets[keyID] = b
	return b
}
