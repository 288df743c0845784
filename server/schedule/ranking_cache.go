package schedule

import "pinion/server/schedule/tournament"

// rankingCache is what the hosts of a cluster are to one class of requests, and which of them is the best.
type rankingCache struct {
	*tournament.Tournament
	hosts   []rankedHost
	applied int    // entries of crew.changed that are in it
	usedAt  uint64 // crew.decisions when it was asked last
}

// newRankingCache is the board of these options.
func newRankingCache(options []rankedHost) *rankingCache {
	b := &rankingCache{hosts: options}
	b.Tournament = tournament.New(len(options), func(at, other int) bool { return b.hosts[at].better(&b.hosts[other]) })
	return b
}

// set changes what one host is.
func (b *rankingCache) set(at int, o rankedHost) {
	b.hosts[at] = o
	b.Changed(at)
}

// best is the host for the next task, of equals the one with the lowest id; nil when all refuse.
func (b *rankingCache) best() *rankedHost {
	if at := b.Best(); at != tournament.None && b.hosts[at].refusal.Reason == "" {
		return &b.hosts[at]
	}
	return nil
}
