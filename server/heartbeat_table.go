package server

import (
	"sync"
	"time"
)

// heartbeatTable is when each host was last heard of: the moment its beat reached the first server, by the clock of this one. A
// server notes what it hears of its own hosts, and while it leads also what the others pass on. It lives in memory and
// never goes through the log, so a new leader does not know of all hosts: it grants those one lease. The zero value is
// ready.
type heartbeatTable struct {
	mu    sync.Mutex
	grant time.Time // every host counts as heard of then
	last  map[string]time.Time
}

// record notes that the host lived at that time.
func (b *heartbeatTable) record(host string, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == nil {
		b.last = make(map[string]time.Time)
	}
	if at.After(b.last[host]) {
		b.last[host] = at
	}
}

// resetLeases grants every host a lease from that time on. What was heard before known is forgotten: such a host may have
// been heard by another server since.
func (b *heartbeatTable) resetLeases(grant, before time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.grant = grant
	for host, at := range b.last {
		if at.Before(before) {
			delete(b.last, host)
		}
	}
}

// silence is for how long nothing was heard of the host, at most since the grant.
func (b *heartbeatTable) silence(host string, now time.Time) time.Duration {
	silence, _ := b.silenceAndMissed(host, now)
	return silence
}

// silenceAndMissed is the silence, and for how long nothing was heard of the host whatever was granted: zero for one of which nothing
// is known.
func (b *heartbeatTable) silenceAndMissed(host string, now time.Time) (silence, missed time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	last, known := b.last[host]
	if known {
		missed = now.Sub(last)
	}
	if last.Before(b.grant) {
		last = b.grant
	}
	return now.Sub(last), missed
}

// since lists the hosts that were heard of at that time or later, and how many milliseconds ago that was.
func (b *heartbeatTable) since(from, now time.Time) heartbeatBatch {
	b.mu.Lock()
	defer b.mu.Unlock()
	var a heartbeatBatch
	for host, at := range b.last {
		if !at.Before(from) {
			a.Hosts, a.Ages = append(a.Hosts, host), append(a.Ages, now.Sub(at).Milliseconds())
		}
	}
	return a
}
