package schedule

import (
	"cmp"
	"slices"

	"pinion/gpu"
	"pinion/raftfsm/spec"
	"pinion/server/schedule/pack"
)

// clusterHosts indexes the hosts of one cluster and caches a ranking for each recent equivalence class of requests, so that a
// decision does not scan all hosts.
type clusterHosts struct {
	hosts         []*Host // by id
	changed       []int32 // indexes of changed hosts, in the order of the changes; rankings apply them lazily
	trimmed       int     // number of changes dropped from the front of changed
	rankings      map[equivalenceClass]*rankingCache
	decisions     uint64
	profile       workloadProfile
	pending       map[string]pack.Shape // shapes of the pending tasks, by task id
	gpuTopologies *gpu.TopologyCache
	images        imageIndex
}

// maxRankedHosts bounds the cached entries over all rankings, about 100 bytes each; minRankings rankings are always kept.
const (
	maxRankedHosts = 1_000_000
	minRankings    = 32
)

func newClusterHosts(wirings *gpu.TopologyCache) *clusterHosts {
	return &clusterHosts{rankings: map[equivalenceClass]*rankingCache{}, pending: map[string]pack.Shape{}, gpuTopologies: wirings, images: newImageIndex()}
}

func (c *clusterHosts) find(hostID string) (at int, known bool) {
	return slices.BinarySearchFunc(c.hosts, hostID, func(h *Host, id string) int { return cmp.Compare(h.Host.ID, id) })
}

// add adds a host. Its Free must match its tasks.
func (c *clusterHosts) add(h *Host) {
	h.readInventory(c.gpuTopologies)
	at, _ := c.find(h.Host.ID)
	c.hosts = slices.Insert(c.hosts, at, h)
	c.renumber(at)
	for _, task := range h.tasks {
		c.profile.add(shapeOfTask(task), 1)
	}
}

func (c *clusterHosts) remove(h *Host) {
	c.hosts = slices.Delete(c.hosts, h.at, h.at+1)
	c.images.forget(h)
	c.renumber(h.at)
	for _, task := range h.tasks {
		c.profile.add(shapeOfTask(task), -1)
	}
}

// renumber updates the host indexes from an index on and drops all rankings, because they refer to hosts by index.
func (c *clusterHosts) renumber(from int) {
	for at := from; at < len(c.hosts); at++ {
		c.hosts[at].at = at
	}
	clear(c.rankings)
	c.trimChanges(len(c.changed))
}

func (c *clusterHosts) assume(h *Host, t *spec.Task) {
	h.assume(t)
	c.profile.add(shapeOfTask(t), 1)
	c.markChanged(h)
}

func (c *clusterHosts) releaseAt(h *Host, at int) {
	c.profile.add(shapeOfTask(h.tasks[at]), -1)
	h.release(at)
	c.markChanged(h)
}

// markChanged records that rankings must evaluate the host again.
func (c *clusterHosts) markChanged(h *Host) {
	if len(c.rankings) == 0 {
		return
	}
	if len(c.changed) > 4*len(c.hosts)+maxFailures {
		c.trimChanges(len(c.changed) / 2)
	}
	h.lastChange = c.trimmed + len(c.changed)
	c.changed = append(c.changed, int32(h.at))
}

// trimChanges drops the oldest changes, and the rankings that have not applied them.
func (c *clusterHosts) trimChanges(oldest int) {
	for of, b := range c.rankings {
		if b.applied < oldest {
			delete(c.rankings, of)
		} else {
			b.applied -= oldest
		}
	}
	c.changed = slices.Delete(c.changed, 0, oldest)
	c.trimmed += oldest
}

// ranking returns the up-to-date ranking for the request's equivalence class, making it if needed.
func (c *clusterHosts) ranking(a *evaluation) *rankingCache {
	of := a.class()
	b := c.rankings[of]
	if b == nil {
		c.evictRanking()
		b = newRankingCache(a.rankAll(c.hosts, runFilters))
		b.applied = len(c.changed)
		c.rankings[of] = b
	}
	c.decisions++
	b.usedAt = c.decisions
	c.refresh(b, a)
	return b
}

// refresh evaluates again the hosts that changed since the ranking was last used.
func (c *clusterHosts) refresh(b *rankingCache, a *evaluation) {
	for ; b.applied < len(c.changed); b.applied++ {
		h := c.hosts[c.changed[b.applied]]
		if h.lastChange == c.trimmed+b.applied { // else a later entry covers it
			b.set(h.at, a.rank(h, runFilters))
		}
	}
}

// evictRanking drops the least recently used ranking when the cache is full.
func (c *clusterHosts) evictRanking() {
	if len(c.rankings) < minRankings || (len(c.rankings)+1)*len(c.hosts) <= maxRankedHosts {
		return
	}
	var oldest equivalenceClass
	least := c.decisions + 1
	for of, b := range c.rankings {
		if b.usedAt < least {
			oldest, least = of, b.usedAt
		}
	}
	delete(c.rankings, oldest)
}
