package proxy

import (
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pinion/raftfsm/traffic"
)

// choose is one of the targets, nil when there is none: the one that the request prefers, or as the group's algorithm says. g.mu is held.
func (g *group) choose(now time.Time, prefer preference, from []*target) *target {
	switch {
	case len(from) == 0:
		return nil
	case len(from) == 1:
		return from[0]
	}
	if t := g.preferred(prefer, from); t != nil {
		return t
	}
	if g.config.Algorithm == traffic.RoundRobin {
		return g.nextInTurn(now, from)
	}
	return g.lessLoaded(now, from)
}

// lessLoaded is the one of two, taken by chance, with less in flight for its weight: nearly as good as the least of all, and hosts that do not
// know of one another's choices do not all run to the same target.
func (g *group) lessLoaded(now time.Time, from []*target) *target {
	i := rand.IntN(len(from))
	j := rand.IntN(len(from) - 1)
	if j >= i {
		j++
	}
	a, b := from[i], from[j]
	if float64(b.inFlight+1)*g.weight(a, now) < float64(a.inFlight+1)*g.weight(b, now) {
		return b
	}
	return a
}

// nextInTurn passes over a target in slow start as often as its weight lacks.
func (g *group) nextInTurn(now time.Time, from []*target) *target {
	var t *target
	for range from {
		g.turn++
		t = from[g.turn%len(from)]
		if weight := g.weight(t, now); weight == 1 || rand.Float64() < weight {
			return t
		}
	}
	return t
}

const leastWeight = 0.05 // of a target that has just become healthy

// weight grows to 1 in the group's slow start.
func (g *group) weight(t *target, now time.Time) float64 {
	if g.config.SlowStart <= 0 {
		return 1
	}
	return min(1, max(leastWeight, float64(now.Sub(t.since))/float64(g.config.SlowStart)))
}

// without is from without the tried targets.
func without(from, tried []*target) []*target {
	if len(tried) == 0 {
		return from
	}
	return slices.DeleteFunc(slices.Clone(from), func(t *target) bool { return slices.Contains(tried, t) })
}

// elsewhere is from less the targets at the hosts of those that are tried: a host that is lost takes all of its targets with it. Where that leaves none,
// it is from less those that are tried.
func elsewhere(from, tried []*target) []*target {
	if len(tried) == 0 {
		return from
	}
	others := slices.DeleteFunc(slices.Clone(from), func(t *target) bool {
		return slices.ContainsFunc(tried, func(was *target) bool { return hostOf(was.address) == hostOf(t.address) })
	})
	if len(others) > 0 {
		return others
	}
	return without(from, tried)
}

func hostOf(address string) string { return address[:strings.LastIndexByte(address, ':')+1] }
