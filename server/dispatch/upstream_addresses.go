package dispatch

import (
	"math/rand/v2"
	"slices"
)

// servers are the addresses of the pool's servers, in an order that differs from host to host and from time to time, which
// spreads the hosts over them. The server that this host was with comes last of them: it may be gone, and to find
// that out takes longer than the others take to answer.
func (u *Upstream) servers() []string {
	servers := slices.DeleteFunc(slices.Clone(u.host.PoolInfo().Servers), func(address string) bool { return address == u.address })
	rand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
	if last := u.last.Load(); last != nil {
		if i := slices.Index(servers, last.Address); i >= 0 {
			servers = append(slices.Delete(servers, i, i+1), last.Address)
		}
	}
	return servers
}
