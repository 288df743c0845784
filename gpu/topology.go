package gpu

import (
	"slices"
	"sync"
)

// Topology is the GPUs of one host, prepared for Pick: sets of devices are bit masks, and results are cached for all hosts
// with the same link scores. It is immutable and safe for concurrent use; a changed inventory needs a new Topology. The
// zero value is the topology of a host without GPUs.
type Topology struct {
	uuids   []string // by position, in the order of device indices
	healthy DeviceSet
	picks   *pickCache // nil without devices
}

// TopologyCache makes topologies; those with equal link scores share their cached results. The zero value is ready to use
// and safe for concurrent use. Results are never evicted: for 8 devices they take 2 kB for each n; for 16 devices 32 kB,
// and 2 kB for each n and each state of the upper 8 devices.
type TopologyCache struct {
	mu       sync.Mutex
	byScores map[string]*pickCache
}

// Topology returns the topology of a host with these devices, in any order. Above MaxDevices it has
// those with the lowest numbers.
func (b *TopologyCache) Topology(devices []Device) Topology {
	all := ordered(devices, MaxDevices)
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

// HealthySet returns the healthy devices among the named ones. Unknown names are ignored.
func (b Topology) HealthySet(names []string) DeviceSet {
	var set DeviceSet
	for _, uuid := range names {
		if at := slices.Index(b.uuids, uuid); at >= 0 {
			set |= 1 << at
		}
	}
	return set & b.healthy
}

// UUIDs returns the UUIDs of a set, ordered by index.
func (b Topology) UUIDs(set DeviceSet) []string {
	names := make([]string, 0, set.Len())
	for i := range set.positions() {
		names = append(names, b.uuids[i])
	}
	return names
}

// Pick is the function Pick for a free set. It returns the empty set when n is not positive or when fewer than n healthy
// devices are free.
func (b Topology) Pick(free DeviceSet, n int) DeviceSet { return b.pick(free, n).set }

// Score returns the sum of link scores of the set that Pick would choose, in units of SYS (SYS 1, NODE 2, PHB 3, PXB 4, PIX
// 5, NVLink 10 a lane plus the PCIe path). It compares hosts for the same n: higher is better. It is 0 for a single device,
// and when Pick returns the empty set.
func (b Topology) Score(free DeviceSet, n int) int { return b.pick(free, n).score }

func (b Topology) pick(free DeviceSet, n int) pickResult {
	free &= b.healthy
	if n <= 0 || n > free.Len() {
		return pickResult{}
	}
	return b.picks.lookup(free, n)
}
