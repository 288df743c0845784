package gpu

import "sync/atomic"

// choice is what was chosen from a free set, and the sum over its pairs.
type choice struct {
	set   Set
	worth int
}

// choices remembers for one wiring which n devices of a free set are best. Answers depend on nothing else, so whoever
// finds one may write it, and readers need no lock. A wiring above exactLimit, of which there are too many free sets, is
// searched each time.
type choices struct {
	wiring wiring
	pages  []atomic.Pointer[page] // by the upper bits of the free set, then by n
}

// page has the answers for the free sets that differ in their lowest eight bits alone: worth and set, 0 when never asked.
type page [256]atomic.Uint64

func newChoices(w wiring) *choices {
	c := &choices{wiring: w}
	if w.size <= exactLimit {
		c.pages = make([]atomic.Pointer[page], w.size<<max(0, w.size-8))
	}
	return c
}

// of answers for 1 <= n <= free.Len().
func (c *choices) of(free Set, n int) choice {
	if c.wiring.size > exactLimit {
		return c.search(free, n)
	}
	known := &c.page(free, n)[free%256]
	if both := known.Load(); both != 0 {
		return choice{set: Set(both), worth: int(both >> 32)}
	}
	found := c.search(free, n)
	known.Store(uint64(found.worth)<<32 | uint64(found.set))
	return found
}

// page is made when it is first asked for. Two that make it at once agree on one of theirs.
func (c *choices) page(free Set, n int) *page {
	at := &c.pages[int(free/256)*c.wiring.size+n-1]
	if at.Load() == nil {
		at.CompareAndSwap(nil, new(page))
	}
	return at.Load()
}

// search weighs the sets of the free devices as if there were no others: only what is free can stay well connected.
func (c *choices) search(free Set, n int) choice {
	part, at := c.wiring.part(free)
	chosen := best(part, n)
	found := choice{worth: int(weigh(part, chosen).inside)}
	for i := range chosen.positions() {
		found.set |= 1 << at[i]
	}
	return found
}
