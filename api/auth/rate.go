package auth

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"pinion/api/httpx"
	"pinion/api/wire"
)

// RateLimiter holds each access key to its requests per second with a token bucket. Each process counts for itself. The zero value is ready,
// and it is safe for concurrent use.
type RateLimiter struct {
	mu      sync.Mutex
	buckets map[string]*rate.Limiter // by owner of a key; only of keys with a limit
}

// burstSeconds is how many seconds' worth of requests may come at once.
const burstSeconds = 2

// maxBuckets bounds the limiter: keys that have sent nothing for long are forgotten beyond it, and begin with a full bucket.
const maxBuckets = 4096

// Take counts one request of the principal, and refuses it when its key has used up what it may send.
func (l *RateLimiter) Take(p Principal, now time.Time) error {
	limit := p.Grant.RequestsPerSecond
	if p.KeyID == "" || limit <= 0 || l.bucket(p.Owner, limit, now).AllowN(now, 1) {
		return nil
	}
	return wire.Errorf(httpx.LimitExceeded, "Access key %s may send %d requests a second and has sent more. Send fewer, or have an administrator make a key with more (`pinion keys create --max-requests`).", p.KeyID, limit)
}

func (l *RateLimiter) bucket(owner string, limit int, now time.Time) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.buckets[owner]; b != nil {
		if b.Burst() != burstSeconds*limit { // a person has logged in again, with other rights
			b.SetLimitAt(now, rate.Limit(limit))
			b.SetBurstAt(now, burstSeconds*limit)
		}
		return b
	}
	if len(l.buckets) >= maxBuckets {
		maps.DeleteFunc(l.buckets, func(_ string, b *rate.Limiter) bool { return b.TokensAt(now) >= float64(b.Burst()) }) // as a new one is
	}
	if l.buckets == nil {
		l.buckets = map[string]*rate.Limiter{}
	}
	b := rate.NewLimiter(rate.Limit(limit), burstSeconds*limit)
	l.buckets[owner] = b
	return b
}
