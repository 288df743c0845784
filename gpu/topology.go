package gpu

import (
	"slices"
	"sync"
)

// Topology is the GPUs of one host in the form that choosing takes: sets of devices are masks, and what was chosen once from
// a free set is remembered for every host that is wired alike. It never changes, so any number of goroutines may ask it
// at a time; a changed inventory needs a new Board. The zero value is the board of a host without GPUs.
type Topology struct {
	uuids   []string // by position, which is the order of device indices
	healthy DeviceSet
	picks   *pickCache // nil without devices
}

// TopologyCache makes boards, and lets those of hosts that are wired alike share what was chosen. The zero value is ready to
// use, by any number of goroutines at a time. It keeps what it learnt for as long as it lives: 2 kB for each number that
// was asked for of a wiring of 8 devices; of 16 it is 32 kB, and 2 kB for each number and each state of the upper 8.
type TopologyCache struct {
	mu       sync.Mutex
	byScores map[string]*pickCache
}

// Topology makes the board of a host with these devices, in whatever order they come. Of more than 32 devices, which no driver
// serves, it has the 32 with the lowest indices.
func (b *TopologyCache) Topology(devices []Device) Topology {
	all := ordered(devices, maxDevices)
	if len(all) == 0 {
		return Topology{}
	}
	board := Topology{uuids: uuids(all), picks: b.pickCacheOf(scoreLinks(all))}
	for i, d := range all {
		if d.Health == Healthy {
			board.healthy |= 1 << i
		}
	}
	return board
}

func (b *TopologyCache) pickCacheOf(w linkScores) *pickCache {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := w.key()
	c := b.byScores[key]
	if c == nil {
		c = newPickCache(w)
		if b.byScores == nil {
			b.byScores = map[string]*pickCache{}
		}
		b.byScores[key] = c
	}
	return c
}

// HealthySet is the healthy devices among the named ones. Names of other hosts' devices do not count.
func (b Topology) HealthySet(names []string) DeviceSet {
	var set DeviceSet
	for _, uuid := range names {
		if at := slices.Index(b.uuids, uuid); at >= 0 {
			set |= 1 << at
		}
	}
	return set & b.healthy
}

// UUIDs names the devices of a set, ordered by index.
func (b Topology) UUIDs(set DeviceSet) []string {
	names := make([]string, 0, set.Len())
	for i := range set.positions() {
		names = append(names, b.uuids[i])
	}
	return names
}

// Pick chooses n of the free devices as the function Pick does. It is empty when n is not positive or when fewer than n
// healthy devices are free.
func (b Topology) Pick(free DeviceSet, n int) DeviceSet { return b.pick(free, n).set }

// Score tells how well the devices that Pick would choose are wired: the sum over their pairs, in units of the farthest
// pair (SYS 1, NODE 2, PHB 3, PXB 4, PIX 5, NVLink 10 a lane and the path beside it). It compares hosts for the same n:
// more is better. It is 0 for a single device, and when Pick is empty.
func (b Topology) Score(free DeviceSet, n int) int { return b.pick(free, n).score }

func (b Topology) pick(free DeviceSet, n int) pickResult {
	free &= b.healthy
	if n <= 0 || n > free.Len() {
		return pickResult{}
	}
	return b.picks.lookup(free, n)
}
