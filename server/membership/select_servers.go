package membership

import (
	"slices"

	"pinion/raftfsm/spec"
)

// selectServers returns the hosts that become servers and the servers that become agents, so that the number of servers is
// odd and at most limit. A server stays one unless it is gone for good; of the other hosts the oldest come first. A server
// that is gone stays too while there is no spare host: its vote may come back, and two copies are better than one. And one
// server too many for an odd number stays while a host that could make the number odd is only absent: no server pays for
// another host's slowness. What joined as an agent is no host here.
func selectServers(all []candidate, limit int) (want, drop []candidate) {
	var servers, dead, spares []candidate
	absent := 0
	for _, c := range all {
		switch {
		case c.host.Server && c.isDead():
			dead = append(dead, c)
		case c.host.Server:
			servers = append(servers, c)
		case c.agent:
		case c.alive && c.host.Status != spec.HostDraining:
			spares = append(spares, c)
		case c.absent && c.host.Status != spec.HostDraining:
			absent++
		}
	}
	slices.SortStableFunc(spares, bySeniority)
	for len(dead) > 0 && len(spares) > 0 && len(servers)+len(dead) <= limit {
		want, drop = append(want, spares[0]), append(drop, dead[0])
		spares, dead, servers = spares[1:], dead[1:], append(servers, spares[0])
	}
	if len(want) > 0 {
		return want, drop
	}
	have := len(servers) + len(dead)
	target := largestOdd(min(limit, have+len(spares)))
	for ; have < target && len(spares) > 0; have++ { // in a new pool there is no server yet, and no spare host
		want, spares = append(want, spares[0]), spares[1:]
	}
	slices.SortStableFunc(servers, bySeniority)
	for most := largestOdd(min(limit, have+len(spares)+absent)); have > most; have-- {
		if len(dead) > 0 {
			drop, dead = append(drop, dead[0]), dead[1:]
			continue
		}
		last := len(servers) - 1
		drop, servers = append(drop, servers[last]), servers[:last]
	}
	return want, drop
}

// bySeniority puts the leader first, then those that have a vote, then the oldest.
func bySeniority(a, b candidate) int {
	switch {
	case a.self != b.self:
		return trueFirst(a.self)
	case a.voter != b.voter:
		return trueFirst(a.voter)
	}
	return a.host.RegisteredAt.Compare(b.host.RegisteredAt)
}

func trueFirst(a bool) int {
	if a {
		return -1
	}
	return 1
}

// largestOdd is the largest odd number up to n, at least 1.
func largestOdd(n int) int { return max(1, n-(n+1)%2) }
