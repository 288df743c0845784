package gpu

import "sync/atomic"

// pickResult is what was chosen from a free set, and the sum over its pairs.
type pickResult struct {
	set   DeviceSet
	score int
}

// pickCache caches, for one table of link scores, the best n devices of a free set. Answers depend on nothing else, so any
// caller may write one, and readers need no lock. A table above exactLimit, of which there are too many free sets, is
// searched each time.
type pickCache struct {
	scores linkScores
	pages  []atomic.Pointer[page] // by the upper bits of the free set, then by n
}

// page has the answers for the free sets that differ in their lowest eight bits alone: worth and set, 0 when never asked.
type page [256]atomic.Uint64

func newPickCache(w linkScores) *pickCache {
	c := &pickCache{scores: w}
	if w.size <= exactLimit {
		c.pages = make([]atomic.Pointer[page], w.size<<max(0, w.size-8))
	}
	return c
}

// lookup answers for 1 <= n <= free.Len().
func (c *pickCache) lookup(free DeviceSet, n int) pickResult {
	if c.scores.size > exactLimit {
		return c.search(free, n)
	}
	known := &c.page(free, n)[free%256]
	if both := known.Load(); both != 0 {
		return pickResult{set: DeviceSet(both), score: int(both >> 32)}
	}
	found := c.search(free, n)
	known.Store(uint64(found.score)<<32 | uint64(found.set))
	return found
}

// page is made when it is first asked for. Two that make it at once agree on one of theirs.
func (c *pickCache) page(free DeviceSet, n int) *page {
	at := &c.pages[int(free/256)*c.scores.size+n-1]
	if at.Load() == nil {
		at.CompareAndSwap(nil, new(page))
	}
	return at.Load()
}

// search weighs the sets of the free devices as if there were no others: only what is free can stay well connected.
func (c *pickCache) search(free DeviceSet, n int) pickResult {
	part, at := c.scores.subset(free)
	chosen := bestSet(part, n)
	found := pickResult{score: int(scoreSet(part, chosen).inside)}
	for i := range chosen.positions() {
		found.set |= 1 << at[i]
	}
	return found
}
