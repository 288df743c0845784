package gpu

import (
	"slices"
	"sync"
)

// Topology is the GPUs of one host, prepared for picking: sets of devices are bit masks, and answers are cached for all hosts
// with the same link scores. It is immutable and safe for concurrent use; a changed inventory needs a new Topology. The zero
// value is the topology of a host without GPUs.
type Topology struct {
	uuids   []string // by position, which is the order of device indices
	healthy DeviceSet
	picks   *pickCache // nil without devices
}

// TopologyCache makes topologies; those with equal link scores share their answers. The zero value is ready to use and safe
// for concurrent use. Answers stay for the life of the cache: of 8 devices 2 kB for each n that was asked for; of 16 devices
// 32 kB, and 2 kB for each n and each state of the upper 8.
type TopologyCache struct {
	mu       sync.Mutex
	byScores map[string]*pickCache
}

// Topology makes the topology of a host with these devices, in whatever order they come. Of more than 32 devices, which no driver
// serves, it has the 32 with the lowest indices.
func (b *TopologyCache) Topology(devices []Device) Topology {
	all := ordered(devices, maxDevices)
	if len(all) == 0 {
		return Topology{}
	}
	t := Topology{uuids: uuids(all), picks: b.pickCacheOf(scoreLinks(all))}
	for i, d := range all {
		if d.Health == Healthy {
			t.healthy |= 1 << i
		}
	}
	return t
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
