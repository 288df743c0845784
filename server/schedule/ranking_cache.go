package schedule

import "pinion/server/schedule/tournament"

// rankingCache ranks the hosts of a cluster for one equivalence class of requests, with a tournament tree over them.
type rankingCache struct {
	*tournament.Tournament
	hosts   []rankedHost
	applied int    // entries of clusterHosts.changed that are applied
	usedAt  uint64 // clusterHosts.decisions at the last use
}

// newRankingCache returns a ranking of these evaluated hosts.
func newRankingCache(options []rankedHost) *rankingCache {
	b := &rankingCache{hosts: options}
	b.Tournament = tournament.New(len(options), func(at, other int) bool { return b.hosts[at].better(&b.hosts[other]) })
	return b
}

// set replaces the evaluation of one host.
func (b *rankingCache) set(at int, o rankedHost) {
	b.hosts[at] = o
	b.Changed(at)
}

// best returns the host for the next task, with the lowest id among equals; nil when every host refuses.
func (b *rankingCache) best() *rankedHost {
	if at := b.Best(); at != tournament.None && b.hosts[at].refusal.Reason == "" {
		return &b.hosts[at]
	}
	return nil
}
