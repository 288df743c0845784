package liveness

import (
	"sync"
	"time"
)

// ServerIdleTimeout is how long a host listens to a server that says nothing. It answers every heartbeat, so one answer is
// missing then, and the host is with another server before it counts as disconnected.
const ServerIdleTimeout = 2 * time.Second

// fastFailover is the longest time between two leaders during which hosts certainly keep their session, or are about to
// open another.
const fastFailover = ServerIdleTimeout

// table holds when each host was last heard of: the moment its heartbeat reached the first server, by the clock of this
// one. A server records the heartbeats of its own hosts, and while it leads also those that the others forward. The table
// lives in memory and never goes through the log, so a new leader does not know of all hosts: it grants those one lease.
// The zero value is ready.
type table struct {
	mu    sync.Mutex
	grant time.Time // every host counts as heard of then
	last  map[string]time.Time

	clocks map[string]time.Duration // how far the clocks are off that are; by host

	drained map[string][]string // by host: the draining targets to which it has no request in flight
}

// record notes that the host lived at that time.
func (t *table) record(host string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == nil {
		t.last = make(map[string]time.Time)
	}
	if at.After(t.last[host]) {
		t.last[host] = at
	}
}

// startTerm begins the lease that a new leader grants every host, now or earlier: it counts from the last contact with
// the leader before, which was leaderless ago, so that a host that went together with that leader is seen no later than
// otherwise. After a longer time without a leader hosts first have to find the pool again, and the lease counts from now.
// A host that beat here shortly before that was with this server: its missed heartbeats still count.
func (t *table) startTerm(now time.Time, leaderless, missedAfter time.Duration) {
	if leaderless < fastFailover {
		now = now.Add(-leaderless)
	}
	t.resetLeases(now, now.Add(-missedAfter))
}

// resetLeases grants every host a lease from that time on. Heartbeats from before the second time are forgotten: such a
// host may have been heard by another server since.
func (t *table) resetLeases(grant, before time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.grant = grant
	for host, at := range t.last {
		if at.Before(before) {
			delete(t.last, host)
		}
	}
}

// silence is for how long nothing was heard of the host, at most since the lease was granted.
func (t *table) silence(host string, now time.Time) time.Duration {
	silence, _ := t.silenceAndLastHeartbeat(host, now)
	return silence
}

// silenceAndLastHeartbeat is the silence, and for how long nothing was heard of the host without regard to the lease: zero for a
// host of which nothing is known.
func (t *table) silenceAndLastHeartbeat(host string, now time.Time) (silence, missed time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, known := t.last[host]
	if known {
		missed = now.Sub(last)
	}
	if last.Before(t.grant) {
		last = t.grant
	}
	return now.Sub(last), missed
}

// heard is when the last heartbeat of a host came, without regard to the lease; zero for a host of which nothing is known.
func (t *table) heard(host string) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last[host]
}

// since lists the hosts that were heard of at that time or later, and how many milliseconds ago that was.
func (t *table) since(from, now time.Time) Batch {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b Batch
	for host, at := range t.last {
		if !at.Before(from) {
			b.Hosts, b.Ages = append(b.Hosts, host), append(b.Ages, now.Sub(at).Milliseconds())
			if targets := t.drained[host]; len(targets) > 0 {
				if b.Drained == nil {
					b.Drained = make(map[string][]string)
				}
				b.Drained[host] = targets
			}
			if offset := t.clocks[host]; offset != 0 {
				if b.Clocks == nil {
					b.Clocks = make(map[string]int64)
				}
				b.Clocks[host] = offset.Milliseconds()
			}
		}
	}
	b.Clock = now.UnixMilli()
	return b
}
