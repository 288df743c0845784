package dispatch

import (
	"math/rand/v2"
	"slices"
)

// addresses are where to look for a server, in an order that differs from host to host and from time to time, which
// spreads the hosts over the servers. The server that this host was with comes last of them: it may be gone, and to find
// that out takes longer than the others take to answer.
func (u *Upstream) addresses() []string {
	info := u.host.PoolInfo()
	servers := u.shuffled(info.Servers)
	if last := u.last.Load(); last != nil {
		if i := slices.Index(servers, last.Address); i >= 0 {
			servers = append(slices.Delete(servers, i, i+1), last.Address)
		}
	}
	return append(servers, u.shuffled(info.Hosts)...)
}

// shuffled is the addresses in random order, without this host's own.
func (u *Upstream) shuffled(addresses []string) []string {
	others := slices.DeleteFunc(slices.Clone(addresses), func(address string) bool { return address == u.address })
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	return others
}
