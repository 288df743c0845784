package consensus

import (
	"context"
	"sync"
	"time"
)

const (
	// maxStall is for how long this process may not have run without it meaning anything: no other server can have become the
	// leader meanwhile, as that takes a silence.
	maxStall = leaderLease / 2
	// quarantine is how long a leader that has stalled answers no reads. By then it has either heard anew from a majority or
	// stepped down.
	quarantine = 2 * leaderLease
)

// stallDetector notices that this process did not run for a while: it was stopped, or its machine slept. A leader that wakes finds
// answers of before in its connections, and Raft counts them for the question whether it still leads, although another
// server may have led, and recorded changes, in between. The zero value is ready.
type stallDetector struct {
	mu               sync.Mutex
	lastRun          time.Time // when it ran
	quarantinedUntil time.Time // it is not sure before
}

// watch beats until ctx ends.
func (p *stallDetector) watch(ctx context.Context, now func() time.Time) {
	tick := time.NewTicker(maxStall / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.observe(now())
		case <-ctx.Done():
			return
		}
	}
}

// reset forgets what was before: a term begins with an entry that a majority has just recorded.
func (p *stallDetector) reset(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lastRun, p.quarantinedUntil = now, time.Time{}
}

// observe notes that the process runs, and reports whether it has run without a stall for long enough.
func (p *stallDetector) observe(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.lastRun) > maxStall {
		p.quarantinedUntil = now.Add(quarantine)
	}
	p.lastRun = now
	return !now.Before(p.quarantinedUntil)
}
