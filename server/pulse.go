package server

import (
	"context"
	"sync"
	"time"
)

const (
	// stall is for how long this process may not have run without it meaning anything: no other server can have become the
	// leader meanwhile, as that takes a silence.
	stall = lease / 2
	// doubtTime is how long a leader that has stalled answers no reads. By then it has either heard anew from a majority or
	// stepped down.
	doubtTime = 2 * lease
)

// pulse notices that this process did not run for a while: it was stopped, or its machine slept. A leader that wakes finds
// answers of before in its connections, and Raft counts them for the question whether it still leads, although another
// server may have led, and recorded changes, in between. The zero value is ready.
type pulse struct {
	mu    sync.Mutex
	last  time.Time // when it ran
	doubt time.Time // it is not sure before
}

// keep beats until ctx ends.
func (p *pulse) keep(ctx context.Context) {
	tick := time.NewTicker(stall / 4)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			p.sure(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

// begin forgets what was before: a term begins with an entry that a majority has just recorded.
func (p *pulse) begin(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last, p.doubt = now, time.Time{}
}

// sure notes that the process runs, and reports whether it has run without a stall for long enough.
func (p *pulse) sure(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(p.last) > stall {
		p.doubt = now.Add(doubtTime)
	}
	p.last = now
	return !now.Before(p.doubt)
}
