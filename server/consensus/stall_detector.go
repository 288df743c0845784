package consensus

import (
	"context"
	"sync"
	"time"

	"pinion/packaging/tick"
)

const (
	// maxStall is the longest harmless pause of this process: it is shorter than the election timeout, so no other server
	// can have become the leader meanwhile.
	maxStall = electionTimeout - 100*time.Millisecond
	// stallInterval is how often the process is seen running at least. It leaves 300 ms for a machine that has too little of its CPUs.
	stallInterval = 200 * time.Millisecond
	// quarantine is the time for which a leader answers no reads after a stall. Afterwards it has either heard from a
	// majority again or stepped down.
	quarantine = 2 * leaderLease
)

// stallDetector detects that this process did not run for a while: it was stopped, or its machine slept. A resumed leader finds
// old answers in its connections, and Raft counts them as proof that it still leads, although another server may have led and
// recorded changes meanwhile. The zero value is ready.
type stallDetector struct {
	mu               sync.Mutex
	lastRun          time.Time // last time the process was seen running
	quarantinedUntil time.Time // no reads are answered before
}

// watch sees the process running until ctx ends.
func (p *stallDetector) watch(ctx context.Context, now func() time.Time) {
	tick := tick.New(stallInterval)
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
