package gpu

import "sync/atomic"

// pickResult is the set chosen from a free set, and the sum of its link scores.
type pickResult struct {
	set   DeviceSet
	score int
}

// pickCache caches, for one matrix of link scores, the best n devices of each free set. A result depends on nothing else,
// so any caller may write it and readers need no lock. Matrices above exactLimit have too many free sets: they are searched
// each time.
type pickCache struct {
	scores linkScores
	pages  []atomic.Pointer[page] // by the upper bits of the free set, then by n
}

// page caches the results of the free sets that differ only in their lowest eight bits: score and set, 0 when not computed
// yet.
type page [256]atomic.Uint64

func newPickCache(w linkScores) *pickCache {
	c := &pickCache{scores: w}
	if w.size <= exactLimit {
		c.pages = make([]atomic.Pointer[page], w.size<<max(0, w.size-8))
	}
	return c
}

// lookup returns the best set for 1 <= n <= free.Len().
func (c *pickCache) lookup(free DeviceSet, n int) pickResult {
	if c.scores.size > exactLimit {
		return c.search(free, n)
	}
	known := &c.page(free, n)[free%256]
	if both := known.Load(); both != 0 {
		return pickResult{set: DeviceSet(uint32(both)), score: int(both >> 32)}
	}
	found := c.search(free, n)
	known.Store(uint64(found.score)<<32 | uint64(found.set))
	return found
}

// page returns the page, and allocates it at first use. Concurrent callers agree on one page.
func (c *pickCache) page(free DeviceSet, n int) *page {
	at := &c.pages[int(free/256)*c.scores.size+n-1]
	if at.Load() == nil {
		at.CompareAndSwap(nil, new(page))
	}
	return at.Load()
}

// search considers the free devices only: links to devices in use do not count, because only free devices can be chosen
// later.
func (c *pickCache) search(free DeviceSet, n int) pickResult {
	part, at := c.scores.subset(free)
	chosen := bestSet(part, n)
	found := pickResult{score: int(scoreSet(part, chosen).inside)}
	for i := range chosen.positions() {
		found.set |= 1 << at[i]
	}
	return found
}
