package admission

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// maxRefusals is how many joins of one address are refused within refusalWindow before it is not heard any more.
	maxRefusals   = 10
	refusalWindow = time.Minute
	// maxAddresses bounds the memory of a refusalLimit. While as many have been refused, new ones share one count.
	maxAddresses = 4096
)

// refusalLimit counts the joins that were refused, by address. Those that succeed cost nothing: a rack of machines may join from
// behind one address. It is safe for concurrent use.
type refusalLimit struct {
	now func() time.Time

	mu     sync.Mutex
	counts map[netip.Prefix]*refusals
}

// refusals are those of one address since its window began.
type refusals struct {
	since time.Time
	count int
}

// wait is how long the address must wait until it is heard again; 0 when it is heard.
func (l *refusalLimit) wait(from netip.Prefix) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r := l.find(from); r != nil && r.count >= maxRefusals {
		return r.since.Add(refusalWindow).Sub(l.now())
	}
	return 0
}

// refused counts a refusal.
func (l *refusalLimit) refused(from netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.find(from)
	if r == nil {
		r = &refusals{since: l.now()}
		if len(l.counts) >= maxAddresses {
			from = netip.Prefix{}
		}
		if l.counts == nil {
			l.counts = map[netip.Prefix]*refusals{}
		}
		l.counts[from] = r
	}
	r.count++
}

// find is the count of an address, nil when none is running. Windows that are over are forgotten when the memory is full.
func (l *refusalLimit) find(from netip.Prefix) *refusals {
	now := l.now()
	over := func(r *refusals) bool { age := now.Sub(r.since); return age >= refusalWindow || age < 0 }
	if len(l.counts) >= maxAddresses {
		for address, r := range l.counts {
			if over(r) {
				delete(l.counts, address)
			}
		}
	}
	r := l.counts[from]
	if r == nil && len(l.counts) >= maxAddresses {
		r = l.counts[netip.Prefix{}]
	}
	if r == nil || over(r) {
		delete(l.counts, from)
		return nil
	}
	return r
}
